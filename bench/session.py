# SPDX-License-Identifier: MIT
"""What the benchmarks share: rounds of interleaved runs, what machine it is, and the file of results."""
import json
import os
import platform
import sys

import lab
import table

SETTLED = 0.02
SHORT_NS = 1_500_000_000


def say(line):
    print(line, file=sys.stderr, flush=True)


def machine():
    model = platform.processor() or platform.machine()
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    return {"cpu": model, "cores": len(os.sched_getaffinity(0)), "arch": platform.machine(),
            "kernel": platform.release(), "libc": " ".join(platform.libc_ver()),
            "load_before": os.getloadavg()[0]}


def choose(who, wanted, known, what):
    for name in wanted:
        if name not in known:
            sys.exit("%s: no %s named %s; there are: %s" % (who, what, name, ", ".join(known)))
    return [name for name in known if not wanted or name in wanted]


def rounds(room, workload, variants, args, samples, passes=1):
    """Round-robin, and each round begins with another variant, so that none always comes after the same.
    After the fixed rounds come more of plain and the variants that have not settled, up to a limit. Each step of
    this generator is a round, whose samples are in `samples` then.
    passes: so often in a round those that are short are run, where others take so long that rounds are few."""
    samples.update({variant.name: [] for variant in variants})
    for number in range(args.max_rounds):
        if number >= args.rounds:
            open_ = [v for v in variants if not table.settled(samples[v.name], SETTLED)]
            if not open_:
                break
            turn, round_ = 0, open_ + [v for v in variants if v.name == "plain" and v not in open_]
        else:
            turn, round_ = number % len(variants), variants
        for number_of_pass in range(passes):
            for variant in round_[turn:] + round_[:turn]:
                taken = samples[variant.name]
                if number_of_pass == 0 or taken[-1]["wall_ns"] < SHORT_NS:
                    taken.append(room.timed(variant, workload))
        yield number


def sample_rounds(room, workload, variants, args):
    """All rounds of one workload, one after the other."""
    samples = {}
    for _ in rounds(room, workload, variants, args, samples):
        pass
    return samples


def examine_all(room, workload, variants, reports):
    """Facts of each variant that works here, and a line for each that does not."""
    facts, problems = {}, []
    for variant in variants:
        try:
            found = room.examine(variant, workload, reports)
        except lab.Failed as problem:
            problems.append("%s under %s: %s" % (workload.name, variant.name, problem))
            continue
        output = found.pop("output")
        if variant.name == "plain":
            expected = output
        elif output not in (None, expected):
            problems.append("%s under %s: it printed something else" % (workload.name, variant.name))
            continue
        facts[variant.name] = found
    return facts, problems


def plain_json(value):
    """A ratio to nothing measurable is infinite, for which JSON has no number."""
    if isinstance(value, dict):
        return {key: plain_json(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_json(each) for each in value]
    return "inf" if value == float("inf") else value


def write_results(path, results):
    with open(path + ".part", "w", encoding="utf-8") as out:
        json.dump(plain_json(results), out, indent=1, allow_nan=False)
        out.write("\n")
    os.rename(path + ".part", path)


def header(info, args, variants, rounds):
    lines = ["%s, %d cores, %s, Linux %s, %s; minimum of %d to %d rounds%s" % (
        info["cpu"], info["cores"], info["arch"], info["kernel"], info["libc"], args.rounds, args.max_rounds,
        "; QUICK: small inputs, numbers are rough" if args.quick else "")]
    if args.rounds < rounds:
        lines.append("fewer than %d rounds: do not quote these numbers" % rounds)
    if info["load_before"] > 0.5:
        lines.append("the machine was busy at the start: load average %.1f" % info["load_before"])
    lines += ["  %-16s %s" % (variant.name, variant.title) for variant in variants]
    return "\n".join(lines) + "\n"
