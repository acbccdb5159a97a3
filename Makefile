# The few long commands worth a name. Everything else is plain go.

.PHONY: build test tunings golden accuracy twins bench bench-lab bench-page bench-nfs bench-fleet meshes kills nfs-scenarios guest mutants

build: ## one static binary, ./fullbore
	CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o fullbore ./cmd/fullbore

test: ## all tests, one package at a time: the lab's measure, and must not disturb each other
	go test -p 1 ./...

golden: ## rewrite the golden files, by the tests that have some (read the difference before you commit it)
	files=$$(grep -rl 'golden\.Check(' --include='*_test.go' .) && \
	go test $$(dirname $$files | sort -u) -update -run "^($$(sed -nE 's/^func (Test[A-Za-z0-9_]*)\(.*/\1/p' $$files | sort -u | paste -sd '|'))$$"

tunings: ## what tune decides on 16 000 simulated paths whose true gains are known (docs/tuning-statistics.md); a minute or two
	FULLBORE_TUNINGS=1000 go test -count 1 -run 'TestTunings(OfTCP)?$$' -v -timeout 30m ./tune

accuracy: ## how often diagnose is right, on 104 scenarios whose cause is known (docs/accuracy.md); half an hour, on an idle machine, as root
	go run ./accuracy -gain

twins: ## 30 scenarios of that suite and their twins, tuned and compared (docs/twin.md); some two hours, on an idle machine, as root
	go run ./accuracy -twins 30

bench-lab: ## what the lab can carry and how exactly, and every scenario tuned (docs/lab.md); on an idle machine
	go test -run '^$$' -bench Wire -benchtime 1x -count 5 ./lab/wire
	go test -run '^$$' -bench RoundTrip -benchtime 5x ./lab
	go test -run '^$$' -bench Tune -benchtime 1x -timeout 30m ./cmd/fullbore

bench-page: ## what 200 live pages take from the test beside them (docs/page.md); on an idle machine
	go test -run '^$$' -bench LivePages -benchtime 1x -timeout 30m ./cmd/fullbore

bench-nfs: ## what NFS's client gets for a second of the processor, beside libnfs and a raw loop (docs/nfs.md); on an idle machine, as root
	FULLBORE_NFS_ROUNDS=15 go test -run 'TestIntegrationBeside$$' -count 1 -v ./nfs

nfs-scenarios: ## the lab's scenarios of NFS, each diagnosed as it says of itself and tuned (docs/nfs.md); on an idle machine
	go test -run '^$$' -bench NFSScenarios -benchtime 1x -timeout 30m ./cmd/fullbore

bench-fleet: ## 1,000 agents on one hub, on three NATS servers of which one is killed, and with PostgreSQL restarted (docs/fleet.md); on an idle machine
	FULLBORE_AGENTS=1000 go test -count 1 -run 'TestManyAgents|TestCluster|TestManyResults' -v ./fleet/hub

meshes: ## what is sick in 20 drawn meshes, and why (docs/fleet.md); 35 minutes, on an idle machine, as root
	FULLBORE_MESHES=20 go test -count 1 -run TestIntegrationMeshes -timeout 60m -v ./cmd/fullbore

kills: ## a hub, agents and their network killed at 200 random instants: nothing is lost (docs/fleet.md); 16 minutes, as root
	FULLBORE_KILLS=200 go test -count 1 -run TestIntegrationKills -timeout 60m -v ./cmd/fullbore

bench: ## fullbore, iperf3, iperf2, nuttcp and a raw loop, interleaved (docs/bench.md); on an idle machine, as root
	go run ./bench

guest: ## the main job and the kernel's own NFS on another kernel, in a virtual machine (docs/nfs.md); as root, once .ci/install has run
	FULLBORE_GUEST=1 go test -count 1 -v -timeout 20m -run Guest ./internal/guest ./cmd/fullbore

mutants: ## what tests would not notice (docs/mutants.md); hours, but it can be ended and goes on where it was
	go run ./internal/mutants tune examine diagnose plan change lab stat path
