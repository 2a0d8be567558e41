# With the clone in $root: what the bundles are made from.

# sources PRIMARY…: those that find's further primaries choose, and folders, in which something may have come or gone
sources() (
  cd "$root" && find conductor shared package.json tsconfig.json node_modules/.package-lock.json \
    \( -type d -o -name '*.ts' ! -name '*.test.ts' -o -name package.json -o -name tsconfig.json -o -name .package-lock.json \) "$@"
)

# the same for the same names and contents
digest() (
  cd "$root" && sources ! -type d -print0 | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum | cut -c 1-64
)
