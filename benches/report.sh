#!/bin/sh
# Runs all benches, or those that are named, and writes benches/results/<date>-<machine>/: report.md and the raw numbers.
set -eu
cd "$(dirname "$0")/.."
benches=${*:-start pipeline files density kill cli}
# With it every program that exits has the host capture a backtrace.
unset RUST_BACKTRACE

field() { sed -n "s/^$1[[:space:]]*: *//p" /proc/cpuinfo 2>/dev/null | head -n 1; }
case $(uname -s) in
Linux)
    model=$(field 'model name')
    cores=$(nproc)
    memory=$(awk '/^MemTotal:/ { printf "%.0f GiB", $2 / 1048576 }' /proc/meminfo)
    ;;
*)
    model=$(sysctl -n machdep.cpu.brand_string)
    cores=$(sysctl -n hw.ncpu)
    memory=$(sysctl -n hw.memsize | awk '{ printf "%.0f GiB", $1 / 1073741824 }')
    ;;
esac
: "${model:=$(uname -m)}"
machine=$(printf '%s-%s' "$model" "$cores" | tr '[:upper:]' '[:lower:]' | tr -cs 'a-z0-9\n' - | sed 's/-*$//')
dir=benches/results/$(date +%Y-%m-%d)-$machine
commit=$(git rev-parse --short HEAD)
git diff --quiet HEAD || commit="$commit with changes"

cargo build --release --workspace
raw=$(mktemp -d)
trap 'rm -r "$raw"' EXIT
load() { cut -d ' ' -f 1 /proc/loadavg 2>/dev/null || uptime | sed 's/.*averages*: //; s/[ ,].*//'; }
before=$(load)
for bench in $benches; do
    SANDBAR_BENCH_DIR=$raw cargo bench --workspace --bench "$bench"
done
after=$(load)

mkdir -p "$dir"
cp "$raw/raw.jsonl" "$dir/raw.jsonl"
{
    echo "# Figures of $(date +%Y-%m-%d)"
    echo
    echo "- machine: $model, $cores processors, $memory memory, $(uname -s) $(uname -r)"
    echo "- load average: $before before, $after after"
    echo "- commit: $commit"
    echo "- command: \`benches/report.sh $benches\`"
    echo
    echo "Ours and its native twin are sampled in turns; a figure is that of the medians. \`raw.jsonl\` has every sample."
    echo
    echo "| what | bar | measured | | behind it |"
    echo "| --- | --- | --- | --- | --- |"
    cat "$raw/rows.md"
} > "$dir/report.md"
echo "$dir/report.md"
