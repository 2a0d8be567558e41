import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { buildBatonCli } from '#image-build/baton-cli.ts';
import type { BuildContext } from '#image-build/build-context.ts';
import { buildDebianPackage } from '#image-build/debian-package/build-debian-package.ts';
import { buildOciImage } from '#image-build/oci-image/build-oci-image.ts';
import { buildOsImage } from '#image-build/os-image/build-os-image.ts';
import { buildRamdisk } from '#image-build/ramdisk/build-ramdisk.ts';
import { type Compression, compressions } from '#image-build/ramdisk/cpio-archive.ts';
import type { Signer } from '#image-build/ramdisk/sign-program.ts';
import { errorChain } from '#shared/errors/app-error.ts';
import { run } from '#shared/process/run.ts';

const usage = `usage: node image-build/main.ts ramdisk|os|package [--force] [--refresh] [--extra DIR]... [--output DIR]
       [--compression small|quick] [--sign-key KEY --sign-cert CERTIFICATE | --sign-command PROGRAM]
  --force    build although nothing has changed
  --refresh  take the package versions that the mirror has now
  --extra    hardware managers and script steps to put into the ramdisk (docs/custom-steps.md); may be repeated
  --output   where the outputs go; default build/ramdisk, build/os-image, build/package
  --compression  of the ramdisk: small, to ship, which takes minutes (default); or quick, for tests, where a small one that
             is up to date is left as it is
  --sign-key, --sign-cert  PEM files: the ramdisk's loader is signed by them too, for Secure Boot with keys of your own
             (needs Debian's sbsigntool)
  --sign-command  a program that does so, where the key is elsewhere: it is called with the unsigned file and the file to
             write`;

interface BuildOptions {
  readonly output?: string;
  readonly extra?: readonly string[];
  readonly compression?: Compression;
  readonly signer?: Signer;
}

const builds: Readonly<Record<string, (context: BuildContext, options: BuildOptions) => Promise<unknown>>> = {
  ramdisk: buildRamdisk,
  os: buildOsImage,
  package: buildPackages,
};

async function main(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      force: { type: 'boolean' },
      refresh: { type: 'boolean' },
      extra: { type: 'string', multiple: true },
      output: { type: 'string' },
      compression: { type: 'string' },
      'sign-key': { type: 'string' },
      'sign-cert': { type: 'string' },
      'sign-command': { type: 'string' },
    },
  });
  const build = builds[positionals[0] ?? ''];
  const compression = compressions.find((name) => name === values.compression);
  const signer = readSigner(values);
  const isForRamdisk = [values.extra, values.compression, signer].some((value) => value !== undefined);
  if (
    build === undefined ||
    positionals.length !== 1 ||
    (isForRamdisk && build !== buildRamdisk) ||
    signer === 'wrong' ||
    compression !== values.compression
  ) {
    process.stderr.write(`${usage}\n`);
    return 2;
  }
  const started = performance.now();
  const say = (line: string): void => {
    process.stderr.write(`${((performance.now() - started) / 1000).toFixed(1).padStart(6)} s  ${line}\n`);
  };
  const options = {
    ...(values.output === undefined ? {} : { output: resolve(values.output) }),
    ...(compression === undefined ? {} : { compression }),
    ...(signer === undefined ? {} : { signer }),
    ...(values.extra === undefined ? {} : { extra: values.extra.map((directory) => resolve(directory)) }),
  };
  await build({ run, say, force: values.force ?? false, refresh: values.refresh ?? false }, options);
  return 0;
}

interface SignerFlags {
  readonly 'sign-key'?: string | undefined;
  readonly 'sign-cert'?: string | undefined;
  readonly 'sign-command'?: string | undefined;
}

/** @returns `wrong`: one of a pair is missing, or both ways are given */
function readSigner(flags: SignerFlags): Signer | 'wrong' | undefined {
  const { 'sign-key': key, 'sign-cert': certificate, 'sign-command': command } = flags;
  if (key === undefined && certificate === undefined)
    return command === undefined ? undefined : { command: command.includes('/') ? resolve(command) : command };
  if (key === undefined || certificate === undefined || command !== undefined) return 'wrong';
  return { key: resolve(key), certificate: resolve(certificate) };
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`image-build: ${errorChain(error)}\n`);
  process.exitCode = 1;
}

/** `npm run package`: all that Baton is installed from. */
async function buildPackages(context: BuildContext, options: { readonly output?: string }): Promise<void> {
  await buildBatonCli(context, options);
  await buildDebianPackage(context, options);
  await buildOciImage(context, options);
}
