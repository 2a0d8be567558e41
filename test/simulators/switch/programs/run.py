"""Runs one of the programs, by its name and arguments; or, with a folder of pipes, all that its callers ask for."""
import io, os, sys, traceback

scripts = {"bridge": "bridge", "ip": "bridge", "config": "sonic", "sonic-cfggen": "sonic", "sonic-db-cli": "sonic", "nv": "nv"}

def load(name):
    file = os.path.join(os.path.dirname(os.path.abspath(__file__)), scripts[name] + ".py")
    return compile(open(file).read(), file, "exec")

def answer(codes, caller, name, *arguments):
    """The exit code; what it prints is in files beside the pipes."""
    given = f"in.{caller}"
    sys.argv, sys.stdin = [name, *arguments], open(given) if os.path.exists(given) else io.StringIO()
    sys.stdout, sys.stderr, code = io.StringIO(), io.StringIO(), 0
    try:
        exec(codes[name], {"__name__": "__main__"})
    except SystemExit as end:
        code = end.code
    except Exception:
        traceback.print_exc()
        code = 1
    printed = [sys.stdout.getvalue(), sys.stderr.getvalue()]
    for kind, text in zip(["out", "err"], printed):
        with open(f"{kind}.{caller}", "w") as file:
            file.write(text)
    return " ".join(str(each) for each in [code, *map(len, printed)])

if sys.argv[1] == "--pipes":
    os.chdir(sys.argv[2])
    codes = {name: load(name) for name in scripts}
    # both stay open: who opens a pipe that is just being closed reads nothing
    with open("requests", "r+b", buffering=0) as requests, open("answers", "r+b", buffering=0) as answers:
        while True:
            line = requests.readline().decode().rstrip("\n")
            answers.write(f"{answer(codes, *line.split(chr(31))[:-1])}\n".encode())
else:
    sys.argv = sys.argv[1:]
    exec(load(sys.argv[0]), {"__name__": "__main__"})
