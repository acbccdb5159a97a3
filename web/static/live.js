// Moves what is live on a page: one stream of events, and what of it each place shows.
'use strict';
(() => {
  const source = document.querySelector('[data-events]');
  if (!source) return;
  const at = id => document.getElementById(id);
  const put = (id, text) => { const e = at(id); if (e && e.textContent !== text) e.textContent = text; };
  const events = new EventSource(source.dataset.events);
  // Whoever looks on is told when nothing comes any more; the browser tries again by itself.
  const lost = document.createElement('p');
  lost.className = 'warning';
  lost.setAttribute('role', 'status');
  source.prepend(lost);
  lost.hidden = true;
  events.onopen = () => { lost.hidden = true; lost.textContent = ''; };
  events.onerror = () => {
    lost.hidden = false;
    lost.textContent = 'Nothing comes from fullbore any more: what is below stands still until it answers again.';
    if (events.readyState === EventSource.CLOSED) setTimeout(again, 5000);
  };
  // A browser does not try again where it was refused, as when too many pages are live. The page itself still comes.
  const again = () => fetch(location.href).then(answer => answer.ok).catch(() => false).then(there => there ? location.reload() : setTimeout(again, 5000));
  const on = (name, act) => events.addEventListener(name, e => act(JSON.parse(e.data)));

  // Numbers, as the rest of the page writes them: three digits, and a unit.
  const digits = v => v >= 99.95 ? v.toFixed(0) : String(+v.toPrecision(3));
  const rate = v => { let i = 0; while (v >= 999.5 && i < 4) { v /= 1000; i++; } return digits(v) + ' ' + ['b/s', 'kb/s', 'Mb/s', 'Gb/s', 'Tb/s'][i]; };
  const span = ns => ns >= 1e6 ? digits(ns / 1e6) + ' ms' : digits(ns / 1e3) + ' µs';
  const element = (name, text, kind) => { const e = document.createElement(name); e.textContent = text; if (kind) e.className = kind; return e; };

  // The figure: the last minute, goodput of all and of up to five streams, and round trips.
  const points = [], seconds = 60, width = 480, left = 62, height = 120;
  const svg = (name, values) => { const e = document.createElementNS('http://www.w3.org/2000/svg', name); for (const k in values) e.setAttribute(k, values[k]); return e; };
  const nice = v => { const p = 10 ** Math.floor(Math.log10(v || 1)); return [1, 2, 5, 10].map(n => n * p).find(n => n >= v * 0.9999); };
  const word = (x, y, text, more) => { const e = svg('text', { x, y, ...more }); e.textContent = text; return e; };
  function panel(root, top, name, lines, write, names = []) {
    const end = points[points.length - 1].at_ns / 1e9, from = Math.max(0, end - seconds);
    const most = nice(Math.max(...lines.flatMap(l => l.map(p => p[1])), 1));
    root.append(word(0, top + 11, name, { class: 'name' }));
    let x = 74;
    if (names.length) ['all', ...names].forEach((text, i) => {
      root.append(svg('path', { class: `line c${i % 6} d${i % 6}`, d: `M${x} ${top + 7}h18` }), word(x + 23, top + 11, text));
      x += 33 + 6.8 * text.length;
    });
    for (const part of [0, 0.5, 1]) {
      const y = top + 22 + height * (1 - part);
      root.append(svg('path', { class: part ? 'grid' : 'axis', d: `M${left} ${y}H${width}` }), word(left - 6, y + 4, part ? write(most * part) : '0', { 'text-anchor': 'end' }));
    }
    lines.forEach((line, i) => root.append(svg('path', { class: `line c${i % 6} d${i % 6}`, d: line.map(([x, y], n) =>
      `${n && x - line[n - 1][0] < 1.5 ? 'L' : 'M'}${(left + (width - left) * (x - from) / Math.max(end - from, 1)).toFixed(1)} ${(top + 22 + height * (1 - y / most)).toFixed(1)}`).join('') })));
    return [from, end];
  }
  function draw() {
    const newest = points[points.length - 1], shown = points.filter(p => p.at_ns > newest.at_ns - seconds * 1e9);
    const all = p => p.sends_bps + p.receives_bps, streams = newest.streams || [];
    const goodput = [shown.map(p => [p.at_ns / 1e9, all(p)])], names = [];
    if (streams.length > 1 && streams.length <= 5) for (const s of streams) {
      names.push((names.length ? '' : 'stream ') + (s.id + 1));
      goodput.push(shown.flatMap(p => (p.streams || []).filter(o => o.id === s.id && o.sender === s.sender).map(o => [p.at_ns / 1e9, o.bps])));
    }
    const trips = shown.map(p => [p.at_ns / 1e9, Math.max(0, ...(p.streams || []).map(s => s.rtt_ns || 0))]).filter(p => p[1]);
    const root = svg('svg', { class: 'figure', role: 'img', viewBox: `0 0 ${width} ${trips.length ? 338 : 185}`, 'aria-label': 'Goodput' + (trips.length ? ' and round trip' : '') + ' of the last minute' });
    const [from, end] = panel(root, 0, 'goodput', goodput, rate, names);
    if (trips.length) panel(root, 160, 'round trip', [trips], span);
    const bottom = trips.length ? 302 : 142;
    root.append(word(left, bottom + 16, from.toFixed(0) + ' s'), word(width, bottom + 16, end.toFixed(0) + ' s', { 'text-anchor': 'end' }), word(width / 2 + 20, bottom + 32, 'time', { class: 'name', 'text-anchor': 'middle' }));
    const figure = document.createElement('figure');
    figure.append(root);
    at('drawn').replaceChildren(figure);
  }

  if (at('live')) {
    let asked = false;
    const begin = () => { points.length = 0; at('steps').replaceChildren(); };
    on('reset', begin);
    on('begin', begin);
    on('step', s => {
      const item = document.createElement('li'), list = at('steps');
      item.append(element('span', (s.at_ns / 1e9).toFixed(1) + ' s'), element('span', s.text, s.kind === 'result' ? 'result' + (s.text.startsWith('helps') ? ' good' : '') : ''));
      list.append(item);
      list.scrollTop = list.scrollHeight;
      if (s.kind === 'phase') put('doing', s.text);
    });
    on('progress', p => {
      points.push(p);
      if (points.length > 600) points.shift();
      put('now-rate', rate(p.sends_bps + p.receives_bps));
      const streams = p.streams || [], trip = Math.max(0, ...streams.map(s => s.rtt_ns || 0));
      if (trip) put('now-rtt', span(trip));
      put('now-again', String(streams.reduce((n, s) => n + (s.retransmits || 0), 0)));
      put('now-streams', String(p.count));
      if (!asked) { asked = true; requestAnimationFrame(() => { asked = false; if (points.length) draw(); }); }
    });
    const over = () => { events.close(); setTimeout(() => location.reload(), 700); };
    on('task', t => {
      put('state', t.state);
      if (t.state === 'waiting') put('doing', 'It waits for its turn: number ' + t.place + '.');
      if (['done', 'failed', 'stopped'].includes(t.state)) over();
    });
    on('end', () => { put('doing', 'It has ended.'); if (!source.dataset.events.includes('task=')) over(); });
    on('gone', over);
  }

  // The list of what is running is the server's: it is asked for again when another run
  // begins or ends.
  if (at('running')) {
    let before = null;
    on('runs', async rows => {
      const now = rows.map(r => r.header.id).sort().join();
      if (before === null ? now === [...at('running').querySelectorAll('a')].map(a => a.pathname.split('/')[2]).sort().join() : now === before) { before = now; return; }
      before = now;
      const answer = await fetch(location.href, { headers: { Accept: 'text/html' } });
      if (!answer.ok) return;
      const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
      at('running').replaceChildren(lost, ...page.getElementById('running').childNodes);
      put('running-news', rows.length ? rows.length + (rows.length === 1 ? ' run is running.' : ' runs are running.') : 'No run is running.');
    });
  }

  if (at('flows')) {
    const pause = at('pause');
    let still = false;
    pause.hidden = false;
    pause.addEventListener('click', () => { still = !still; pause.setAttribute('aria-pressed', still); });
    on('flows', f => {
      if (still) return;
      put('flows-says', f.error || f.says);
      at('flow-rows').replaceChildren(...(f.rows.length ? f.rows : [{ process: 'none', way: 'Nothing moves just now.' }]).map(r => {
        const row = document.createElement('tr'), name = element('th', r.process);
        name.scope = 'row';
        row.append(name, element('td', r.way), element('td', r.rate || '', 'n r'), element('td', r.rtt || '', 'n r'), element('td', r.resent || '', 'n r'), element('td', r.limit || ''), element('td', r.why || ''));
        return row;
      }));
    });
  }
})();
