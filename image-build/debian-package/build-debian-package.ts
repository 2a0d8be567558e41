import { chmod, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { conductorPackages } from '#conductor/start/host-packages.ts';
import { type BuildContext, paths } from '#image-build/build-context.ts';
import { copy, stagePackage, writeStaged } from '#image-build/debian-package/stage-package.ts';
import packageJson from '../../package.json' with { type: 'json' };

const sources = import.meta.dirname;
/** Names that Debian has for Node.js's processors. */
const architectures: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' };

interface PackageOptions {
  /** Where `baton_VERSION_ARCHITECTURE.deb` goes; default `build/package`. */
  readonly output?: string;
  /** Default that of `package.json`. */
  readonly version?: string;
}

/**
 * Makes the Debian package of conductor, CLI, Node.js and ramdisk.
 * @returns its path
 * @throws AppError `invalid_argument` without a ramdisk, `command_failed` when dpkg-deb fails
 */
export async function buildDebianPackage(context: BuildContext, options: PackageOptions = {}): Promise<string> {
  const output = options.output ?? paths.packages;
  const version = options.version ?? packageJson.version;
  const architecture = architectures[process.arch] ?? process.arch;
  const tree = await mkdtemp(join(tmpdir(), 'baton-package-'));
  try {
    await chmod(tree, 0o755);
    context.say('package: bundling the programs');
    await stagePackage(tree);
    await writeControl(tree, { version, architecture, run: context.run });
    await mkdir(output, { recursive: true });
    const file = join(output, `baton_${version}_${architecture}.deb`);
    context.say(`package: packing ${file}`);
    await context.run('dpkg-deb', ['--root-owner-group', '-Zzstd', '-z10', '--build', tree, file], {
      timeoutMs: 10 * 60_000,
    });
    return file;
  } finally {
    await rm(tree, { recursive: true });
  }
}

async function writeControl(
  tree: string,
  { version, architecture, run }: { version: string; architecture: string; run: BuildContext['run'] },
): Promise<void> {
  const control = join(tree, 'DEBIAN');
  const { stdout: size } = await run('du', ['--summarize', '--apparent-size', '--block-size=1024', tree]);
  const depends = [
    'libc6 (>= 2.28)',
    'libstdc++6',
    'passwd',
    'postgresql-15 | postgresql-16 | postgresql-17 | postgresql-18',
    ...conductorPackages,
  ];
  const fields = {
    Package: 'baton',
    Version: version,
    Architecture: architecture,
    Maintainer: 'Baton maintainers <baton@localhost>',
    'Installed-Size': size.split('\t')[0],
    Depends: depends.join(', '),
    Recommends: 'dnsmasq-base, ipxe',
    Section: 'admin',
    Priority: 'optional',
    Description:
      'bare-metal provisioning that speaks the API of OpenStack Ironic\n The conductor, the command baton, and the ramdisk that machines boot.',
  };
  const text = Object.entries(fields).map(([name, value]) => `${name}: ${value}\n`);
  await writeStaged(join(control, 'control'), text.join(''), 0o644);
  await writeStaged(join(control, 'conffiles'), '/etc/baton/baton.env\n', 0o644);
  for (const name of (await readdir(join(sources, 'scripts'))).filter((each) => each !== 'baton')) {
    await copy(join(sources, 'scripts', name), join(control, name), 0o755);
  }
}
