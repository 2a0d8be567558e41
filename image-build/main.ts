import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { buildBatonCli } from '#image-build/baton-cli.ts';
import type { BuildContext } from '#image-build/build-context.ts';
import { buildDebianPackage } from '#image-build/debian-package/build-debian-package.ts';
import { buildOciImage } from '#image-build/oci-image/build-oci-image.ts';
import { buildOsImage } from '#image-build/os-image/build-os-image.ts';
import { buildRamdisk } from '#image-build/ramdisk/build-ramdisk.ts';
import { type Compression, compressions } from '#image-build/ramdisk/cpio-archive.ts';
import { errorChain } from '#shared/errors/app-error.ts';
import { run } from '#shared/process/run.ts';

const usage = `usage: node image-build/main.ts ramdisk|os|package [--force] [--refresh] [--extra DIR]... [--output DIR]
       [--compression small|quick]
  --force    build although nothing has changed
  --refresh  take the package versions that the mirror has now
  --extra    hardware managers and script steps to put into the ramdisk (docs/custom-steps.md); may be repeated
  --output   where the outputs go; default build/ramdisk, build/os-image, build/package
  --compression  of the ramdisk: small, to ship, which takes minutes (default); or quick, for tests, where a small one that
             is up to date is left as it is`;

interface BuildOptions {
  readonly output?: string;
  readonly extra?: readonly string[];
  readonly compression?: Compression;
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
    },
  });
  const build = builds[positionals[0] ?? ''];
  const compression = compressions.find((name) => name === values.compression);
  const isForRamdisk = values.extra !== undefined || values.compression !== undefined;
  if (
    build === undefined ||
    positionals.length !== 1 ||
    (isForRamdisk && build !== buildRamdisk) ||
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
    ...(values.extra === undefined ? {} : { extra: values.extra.map((directory) => resolve(directory)) }),
  };
  await build({ run, say, force: values.force ?? false, refresh: values.refresh ?? false }, options);
  return 0;
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
