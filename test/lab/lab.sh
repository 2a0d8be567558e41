#!/bin/bash
# npm run lab: the set-up, then the lab. For its help, npm's packages are enough.
set -euo pipefail
cd "$(dirname "$0")/../.."
case " $* " in
  *" --help "*) [[ -d node_modules ]] || test/set-up/set-up.sh npm ;;
  *) test/set-up/set-up.sh ;;
esac
exec node test/lab/main.ts "$@"
