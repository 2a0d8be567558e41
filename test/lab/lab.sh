#!/bin/bash
# npm run lab: the set-up, then the lab. For its help, and to refuse a bad flag before the set-up, npm's packages are enough.
set -euo pipefail
cd "$(dirname "$0")/../.."
[[ -d node_modules ]] || test/set-up/set-up.sh npm
case " $* " in
  *" --help "*) ;;
  *)
    # what else goes wrong, such as packages that are missing, the set-up may mend
    said=$(node test/lab/main.ts "$@" --help 2>&1) || [[ $? != 2 ]] || { printf '%s\n' "$said" >&2; exit 2; }
    test/set-up/set-up.sh
    ;;
esac
exec node test/lab/main.ts "$@"
