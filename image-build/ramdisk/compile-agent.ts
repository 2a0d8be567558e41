import { readFileSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { Script } from 'node:vm';

/**
 * A program: `node --hash-seed=1 compile-agent.ts BUNDLE TARGET` writes the bytecode of all of the bundle's functions. With
 * a fixed seed equal bundles give equal bytes. A Node takes only bytecode of its own build and flags, so the flags
 * are back at their defaults when it is written.
 */
const [bundle = '', target = ''] = process.argv.slice(2);
setFlagsFromString('--no-lazy');
const script = new Script(readFileSync(bundle, 'utf8'), { filename: basename(bundle) });
setFlagsFromString('--lazy');
setFlagsFromString('--hash-seed=0');
writeFileSync(target, script.createCachedData());
