package guest

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// build makes the files of a guest, as the archive that its kernel unpacks: in dir, from
// what is unpacked in root.
func build(ctx context.Context, root, dir string, m Machine, initScript string) (archive string, err error) {
	files := filepath.Join(dir, "files")
	for _, d := range []string{"bin", "dev", "etc", "lib64", "modules", "proc", "run", "sys", "tmp", "usr/bin", "usr/lib", "usr/sbin", "var/lib/nfs", "test"} {
		if err := os.MkdirAll(filepath.Join(files, d), 0o755); err != nil {
			return "", err
		}
	}
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	err = errors.Join(
		os.WriteFile(filepath.Join(files, "init"), []byte(initScript), 0o755),
		os.Symlink("usr/sbin", filepath.Join(files, "sbin")),
		install(ctx, root, self, files, "test/.program"),
		install(ctx, root, filepath.Join(root, "usr/bin/busybox"), files, "bin/busybox"),
		modules(root, files, m.Modules),
	)
	for _, name := range m.Programs {
		from, e := find(root, name)
		if e != nil {
			return "", e
		}
		err = errors.Join(err, install(ctx, root, from, files, filepath.Join("usr/sbin", name)))
	}
	if err != nil {
		return "", err
	}
	archive = filepath.Join(dir, "initrd")
	out, err := os.Create(archive)
	if err != nil {
		return "", err
	}
	pack := exec.CommandContext(ctx, filepath.Join(root, "usr/bin/busybox"), "sh", "-c", "busybox find . | busybox cpio -o -H newc")
	pack.Dir, pack.Stdout, pack.Env = files, out, append(os.Environ(), "PATH="+filepath.Join(root, "usr/bin"))
	return archive, errors.Join(pack.Run(), out.Close())
}

// find is where a program lies: of the root, or of this machine.
func find(root, name string) (string, error) {
	for _, dir := range []string{"usr/sbin", "usr/bin"} {
		path := filepath.Join(root, dir, name)
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("a guest wants %s: %w", name, err)
	}
	return path, nil
}

// needed is a line of what the loader lists: a library and where it lies, or the loader itself.
var needed = regexp.MustCompile(`(?m)^\s+(?:\S+ => )?(/\S+) \(0x`)

// install copies a program into a guest's files, with the libraries that it needs.
func install(ctx context.Context, root, from, files, to string) error {
	if err := place(from, filepath.Join(files, to)); err != nil {
		return err
	}
	binary, err := elf.Open(from)
	if err != nil {
		return err
	}
	loader := slices.IndexFunc(binary.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP })
	if _ = binary.Close(); loader < 0 { // it is static
		return nil
	}
	list := exec.CommandContext(ctx, "/lib64/ld-linux-x86-64.so.2", "--list", from)
	list.Env = append(os.Environ(), "LD_LIBRARY_PATH="+libraries(root))
	said, err := list.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: which libraries it needs: %w: %s", from, err, said)
	}
	for _, library := range needed.FindAllStringSubmatch(string(said), -1) {
		dir := "usr/lib"
		if strings.HasPrefix(filepath.Base(library[1]), "ld-") {
			dir = "lib64"
		}
		if err := place(library[1], filepath.Join(files, dir, filepath.Base(library[1]))); err != nil {
			return err
		}
	}
	return nil
}

// modules copies those of the kernel that are named and those that they need, and writes
// the order in which they are loaded.
func modules(root, files string, names []string) error {
	lists, err := filepath.Glob(filepath.Join(root, "usr/lib/modules/*/modules.dep"))
	if err != nil || len(lists) != 1 {
		return fmt.Errorf("a kernel's modules.dep: there are %d (%w)", len(lists), err)
	}
	text, err := os.ReadFile(lists[0])
	if err != nil {
		return err
	}
	needs := map[string][]string{} // a module's file, and those that it needs, the first of all last
	for line := range strings.Lines(string(text)) {
		path, others, _ := strings.Cut(strings.TrimSpace(line), ":")
		needs[strings.TrimSuffix(filepath.Base(path), ".ko")] = append([]string{path}, strings.Fields(others)...)
	}
	var order []string
	for _, name := range names {
		all, ok := needs[name]
		if !ok {
			return fmt.Errorf("the guest's kernel has no module %s", name)
		}
		for _, path := range slices.Backward(all) {
			file := filepath.Base(path)
			if slices.Contains(order, file) {
				continue
			}
			order = append(order, file)
			if err := place(filepath.Join(filepath.Dir(lists[0]), path), filepath.Join(files, "modules", file)); err != nil {
				return err
			}
		}
	}
	return os.WriteFile(filepath.Join(files, "modules/order"), []byte(strings.Join(order, "\n")+"\n"), 0o644)
}

// place copies a file, once.
func place(from, to string) error {
	if _, err := os.Stat(to); err == nil {
		return nil
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
