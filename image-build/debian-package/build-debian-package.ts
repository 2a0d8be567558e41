import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { buildBundles } from '#conductor/bundle/build-bundles.ts';
import { conductorPackages } from '#conductor/start/host-packages.ts';
import type { BuildContext } from '#image-build/build-context.ts';
import { settingsFile } from '#image-build/debian-package/settings-file.ts';
import { paths } from '#image-build/paths.ts';
import { packagesOf } from '#image-build/ramdisk/agent-bundle.ts';
import { licensesText } from '#image-build/ramdisk/licenses.ts';
import { AppError } from '#shared/errors/app-error.ts';

const sources = import.meta.dirname;
/** Below it the package has what a clone has, as far as bundles read it (`importMetaOf`). */
const home = 'usr/lib/baton';
/** Beside the bundles, of the clone. */
const readByBundles = [
  'package.json',
  'conductor/board/board.html',
  'conductor/board/board.css',
  'conductor/kernel/db/migrations',
  'conductor/cluster/kubernetes/kubelet-shutdown.yaml',
  'node_modules/swagger-ui-dist',
];
const ramdiskFiles = ['vmlinuz', 'initrd.img', 'boot-medium.bin', 'boot-medium.json', 'licenses.txt'];

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
  const output = options.output ?? paths.debianPackage;
  const version = options.version ?? (await ownVersion());
  const architecture = architectures[process.arch] ?? process.arch;
  const tree = await mkdtemp(join(tmpdir(), 'baton-package-'));
  try {
    await chmod(tree, 0o755);
    context.say('package: bundling the programs');
    await stage(tree);
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

async function ownVersion(): Promise<string> {
  const text = await readFile(join(paths.repository, 'package.json'), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

async function stage(tree: string): Promise<void> {
  const bundles = join(tree, home, 'build/bundle');
  const inputs = await buildBundles(bundles);
  await rm(join(bundles, 'stamp'));
  for (const path of readByBundles) await copy(join(paths.repository, path), join(tree, home, path));
  await copy(paths.nodeBinary, join(tree, home, 'bin/node'));
  for (const name of ramdiskFiles) {
    await copy(join(paths.ramdisk, name), join(tree, home, 'ramdisk', name)).catch((cause: unknown) => {
      throw new AppError('invalid_argument', `there is no ramdisk in ${paths.ramdisk}: npm run image makes it`, {
        cause,
      });
    });
  }
  await copy(join(sources, 'scripts/baton'), join(tree, 'usr/bin/baton'), 0o755);
  await copy(join(sources, 'baton.service'), join(tree, 'lib/systemd/system/baton.service'), 0o644);
  await write(join(tree, 'etc/baton/baton.env'), settingsFile(), 0o640); // DATABASE_URL may have a password
  const documents = join(tree, 'usr/share/doc/baton');
  await copy(join(paths.repository, 'docs'), documents);
  const npmPackages = packagesOf(inputs).map((path) => join(paths.repository, path));
  const licenses = await licensesText({ npmPackages });
  await write(
    join(documents, 'copyright'),
    `${await readFile(join(paths.repository, 'LICENSE'), 'utf8')}\n${licenses}`,
  );
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
    Recommends: 'dnsmasq-base',
    Section: 'admin',
    Priority: 'optional',
    Description:
      'bare-metal provisioning that speaks the API of OpenStack Ironic\n The conductor, the command baton, and the ramdisk that machines boot.',
  };
  const text = Object.entries(fields).map(([name, value]) => `${name}: ${value}\n`);
  await write(join(control, 'control'), text.join(''), 0o644);
  await write(join(control, 'conffiles'), '/etc/baton/baton.env\n', 0o644);
  for (const name of (await readdir(join(sources, 'scripts'))).filter((each) => each !== 'baton')) {
    await copy(join(sources, 'scripts', name), join(control, name), 0o755);
  }
}

async function copy(from: string, to: string, mode?: number): Promise<void> {
  await mkdir(dirname(to), { recursive: true });
  await cp(from, to, { recursive: true });
  if (mode !== undefined) await chmod(to, mode);
}

async function write(path: string, text: string, mode = 0o644): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
  await chmod(path, mode);
}
