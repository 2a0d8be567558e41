import { unpackDebian13 } from '#test/interop/debian-13.ts';

/** Prints where Debian 13 with the real counterparts is, and unpacks it first when it is not there. */
const path = await unpackDebian13((line) => void process.stderr.write(`${line}\n`));
process.stdout.write(`${path}\n`);
