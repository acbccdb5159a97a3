package format

import (
	"strings"

	"github.com/fullbore/fullbore/host"
)

// bootScript is the script that a system runs at every boot, for what it does
// not keep by itself.
func (s *sheet) bootScript(state string, how ...string) string {
	return s.script(scriptKind{how: append(how, "It makes the settings anew, since the system forgets them. Sizes are only ever raised."), state: state})
}

// smf is a service of Solaris 10 and later, and of illumos.
var smf = register(Format{
	Name:  "smf",
	About: "a service of SMF, and the script that it runs at boot",
	For:   func(h *host.Facts) bool { return h.OS == "illumos" || h.OS == "solaris" && major(h.Version) >= 10 },
	Write: of(func(s *sheet) ([]File, error) {
		w := &page{comments: xmlComments}
		w.line(`<?xml version="1.0"?>`)
		w.line(`<!DOCTYPE service_bundle SYSTEM "/usr/share/lib/xml/dtd/service_bundle.dtd.1">`)
		s.intro(w,
			"Install fullbore-settings.sh as /lib/svc/method/fullbore-settings, owned by root, mode 0755, and this file as /var/svc/manifest/site/fullbore-settings.xml.",
			"Then: svccfg import /var/svc/manifest/site/fullbore-settings.xml",
			"The script's output is in the log that svcs -L names.")
		w.WriteString(manifest)
		return []File{
			xmlComments.text("fullbore-settings.xml", w.String()),
			hashComments.program("fullbore-settings.sh", s.bootScript("smf", "Install as /lib/svc/method/fullbore-settings; fullbore-settings.xml says how.")),
		}, nil
	}),
	Undo: of(func(s *sheet) ([]File, error) {
		return []File{hashComments.program("undo-smf.sh", s.undoBoot("smf", "undo-smf.sh",
			"if svcs svc:/site/fullbore-settings:default >/dev/null 2>&1; then",
			"\tsvcadm disable -s svc:/site/fullbore-settings:default",
			"\tsvccfg delete -f svc:/site/fullbore-settings",
			"fi",
			"rm -f /var/svc/manifest/site/fullbore-settings.xml /lib/svc/method/fullbore-settings",
		))}, nil
	}),
})

// manifest is a service that runs once at boot, when the network is there and
// before what serves on it (smf_method(7), service_bundle(5)). Its elements are
// in the order that service_bundle.dtd.1 asks for.
const manifest = `<service_bundle type="manifest" name="fullbore-settings">
  <service name="site/fullbore-settings" type="service" version="1">
    <create_default_instance enabled="true"/>
    <single_instance/>
    <dependency name="network" grouping="require_all" restart_on="none" type="service">
      <service_fmri value="svc:/milestone/network:default"/>
    </dependency>
    <dependency name="filesystem" grouping="require_all" restart_on="none" type="service">
      <service_fmri value="svc:/system/filesystem/local:default"/>
    </dependency>
    <exec_method type="method" name="start" exec="/lib/svc/method/fullbore-settings" timeout_seconds="60"/>
    <exec_method type="method" name="stop" exec=":true" timeout_seconds="60"/>
    <property_group name="startd" type="framework">
      <propval name="duration" type="astring" value="transient"/>
    </property_group>
    <stability value="Unstable"/>
    <template>
      <common_name>
        <loctext xml:lang="C">settings for bulk transfers</loctext>
      </common_name>
    </template>
  </service>
</service_bundle>
`

// rc is a script of /etc/rc2.d.
var _ = register(Format{
	Name:  "rc",
	About: "a script of /etc/rc2.d, for systems without SMF",
	For:   func(h *host.Facts) bool { return h.OS == "solaris" && major(h.Version) < 10 },
	Write: of(func(s *sheet) ([]File, error) {
		w := &page{comments: hashComments}
		w.line("#!/sbin/sh")
		s.intro(w,
			"Install fullbore-settings.sh as /etc/init.d/fullbore-settings.sh and this file as /etc/init.d/fullbore, both owned by root, mode 0755.",
			"Then: ln -s ../init.d/fullbore /etc/rc2.d/S70fullbore, after S69inet, which sets up TCP; /etc/init.d/fullbore start",
			"This is the Bourne shell, which does not understand the settings' script.")
		w.WriteString(initScript)
		return []File{
			hashComments.program("fullbore", w.String()),
			hashComments.program("fullbore-settings.sh", s.bootScript("rc", "Install as /etc/init.d/fullbore-settings.sh; the file fullbore says how.")),
		}, nil
	}),
	Undo: of(func(s *sheet) ([]File, error) {
		return []File{hashComments.program("undo-rc.sh", s.undoBoot("rc", "undo-rc.sh",
			"rm -f /etc/rc2.d/S70fullbore /etc/init.d/fullbore /etc/init.d/fullbore-settings.sh",
		))}, nil
	}),
})

const initScript = `case "$1" in
start)
	/bin/ksh /etc/init.d/fullbore-settings.sh
	;;
stop)
	;;
*)
	echo "usage: $0 start|stop" >&2
	exit 1
	;;
esac
`

// launchd is a LaunchDaemon of macOS.
var launchd = register(Format{
	Name:  "launchd",
	About: "a LaunchDaemon, and the script that it runs at boot",
	For:   func(h *host.Facts) bool { return h.OS == "macos" && !before(h.Version, 10, 4) },
	Write: of(func(s *sheet) ([]File, error) {
		w := &page{comments: xmlComments}
		w.line(`<?xml version="1.0" encoding="UTF-8"?>`)
		w.line(`<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">`)
		s.intro(w,
			"Install fullbore-settings.sh as /usr/local/sbin/fullbore-settings.sh, mode 0755, and this file as /Library/LaunchDaemons/fullbore.settings.plist, mode 0644, both owned by root:wheel.",
			"Then: launchctl load -w /Library/LaunchDaemons/fullbore.settings.plist")
		w.WriteString(daemon)
		return []File{
			xmlComments.text("fullbore.settings.plist", w.String()),
			hashComments.program("fullbore-settings.sh", s.bootScript("launchd", "Install as /usr/local/sbin/fullbore-settings.sh; fullbore.settings.plist says how.")),
		}, nil
	}),
	Undo: of(func(s *sheet) ([]File, error) {
		return []File{hashComments.program("undo-launchd.sh", s.undoBoot("launchd", "undo-launchd.sh",
			"if [ -f /Library/LaunchDaemons/fullbore.settings.plist ]; then",
			"\tlaunchctl unload -w /Library/LaunchDaemons/fullbore.settings.plist",
			"fi",
			"rm -f /Library/LaunchDaemons/fullbore.settings.plist /usr/local/sbin/fullbore-settings.sh",
		))}, nil
	}),
})

const daemon = `<plist version="1.0">
<dict>
	<key>Label</key>
	<string>fullbore.settings</string>
	<key>ProgramArguments</key>
	<array>
		<string>/bin/sh</string>
		<string>/usr/local/sbin/fullbore-settings.sh</string>
	</array>
	<key>RunAtLoad</key>
	<true/>
	<key>StandardOutPath</key>
	<string>/var/log/fullbore-settings.log</string>
	<key>StandardErrorPath</key>
	<string>/var/log/fullbore-settings.log</string>
</dict>
</plist>
`

// undoBoot is a script that takes a boot script away, and then back what it set.
func (s *sheet) undoBoot(state, name string, away ...string) string {
	return s.script(scriptKind{
		how:   []string{"As root: " + s.shell() + " " + name + " takes away what runs at boot, and puts back what is still as it was set."},
		state: state, undo: true, first: away,
	})
}

// xmlComments are closed on their own line.
var xmlComments = &comments{mark: "<!--", close: " -->", clean: inXML, are: func(line string) bool {
	inside, ok := strings.CutPrefix(line, "<!--")
	_, after, closed := strings.Cut(inside, "--")
	return ok && closed && after == ">"
}}

// inXML takes out of a comment what may not be in one: two hyphens in a row, or
// one at its end (XML 1.0, 2.5). A blank follows every comment's text here.
func inXML(text string) string {
	for strings.Contains(text, "--") {
		text = strings.ReplaceAll(text, "--", "- -")
	}
	return text
}
