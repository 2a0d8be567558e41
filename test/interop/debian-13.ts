import { chmod, copyFile, mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { BuildContext } from '#image-build/build-context.ts';
import { packageTree } from '#image-build/package-tree.ts';
import { parsePackageFile } from '#image-build/ramdisk/finish-tree.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { run } from '#shared/process/run.ts';

/** Packages that the real counterparts run on; each brings what it depends on. */
const packages = [
  'python3-ironic',
  'python3-neutron',
  'python3-networking-generic-switch', // a mechanism driver whose switch is a list of commands
  'ipmitool',
  'genisoimage', // config drives
  'qemu-utils', // both ask it about images
  // what ironic-python-agent imports and calls
  'python3-cryptography',
  'python3-oslo.service',
  'python3-pint',
  'python3-psutil',
  'python3-pyudev',
  'python3-requests',
  'python3-stevedore',
  'python3-tenacity',
  'python3-tooz',
  'python3-werkzeug',
  'python3-zeroconf',
  'dmidecode',
  'efibootmgr',
  'ethtool',
  'gdisk',
  'hdparm',
  'iproute2',
  'kmod',
  'lshw',
  'parted',
  'pciutils',
  'procps',
  'psmisc',
  'stress-ng',
  'udev',
  // suites of tests, and what these import
  'ironic-tempest-plugin',
  'golang-github-gophercloud-gophercloud-dev',
  'python3-ironicclient',
  'python3-openstackclient', // its command, which runs ironicclient's
  'python3-openstacksdk',
  'python3-oslotest',
  'python3-requests-mock',
  // Ironic's usual database, and the program that reads it
  'mariadb-server-core',
  'mariadb-client-core',
  'python3-pymysql',
  'ansible-core',
] as const;

/** Unpacked without what they depend on: libguestfs, libvirt, tuned, a TFTP server and 300 more packages not used here. */
const alone = ['ironic-common', 'ironic-python-agent', 'neutron-common', 'ansible'] as const;

/** The one of a hundred collections in the package `ansible` that is kept. */
const ansibleCollection = 'openstack';

/** The versions that the interop tests are about: Debian 13's. */
const counterparts = {
  ironic: /^python3-ironic=1:29\.0\./,
  agent: /^ironic-python-agent=10\.2\./,
  tempest: /^ironic-tempest-plugin=2\.13\./,
  openstacksdk: /^python3-openstacksdk=4\.4\./,
  gophercloud: /^golang-github-gophercloud-gophercloud-dev=1\.4\./,
  neutron: /^python3-neutron=2:26\.0\./,
  ansible: /^ansible=12\.0\./,
  mariadb: /^mariadb-server-core=1:11\.8\./,
} as const;

const suite = 'trixie';
const hostSuite = 'bookworm';
const unwanted = ['doc', 'info', 'locale', 'man'].map((folder) => `--dpkgopt=path-exclude=/usr/share/${folder}/*`);

/**
 * Debian 13 with the real ironic-python-agent and the real Ironic, unpacked below `build/cache`, made once. Waits for
 * the one that makes it: the other test, or `set-up.sh counterparts`.
 * @returns its path
 * @throws AppError `command_failed` when the mirror can't be had or has other versions
 */
export async function debian13(): Promise<string> {
  const program = join(import.meta.dirname, 'debian-13-process.ts');
  const { stdout } = await run('flock', ['build/.counterparts.lock', process.execPath, program], {
    timeoutMs: 20 * 60_000,
  });
  return stdout.trim();
}

/**
 * The same in this process; two at once would run into each other.
 * @throws AppError `command_failed` when the mirror can't be had, `internal` when it has other versions
 */
export async function unpackDebian13(say: (line: string) => void): Promise<string> {
  const context: BuildContext = { run, say, force: false, refresh: false };
  const tree = await packageTree(context, {
    name: 'interop',
    suite,
    hostSuite,
    packages,
    format: 'tree',
    options: [
      '--variant=extract',
      '--include=?essential',
      '--skip=cleanup/apt', // the package files' names say the versions
      '--aptopt=APT::Install-Recommends "false"',
      ...unwanted,
      `--extract-hook=cd "$1/var/cache/apt/archives" && APT_CONFIG="$MMDEBSTRAP_APT_CONFIG" apt-get download ${alone.join(' ')} && for name in ${alone.join(' ')}; do dpkg-deb --extract "$name"_*.deb "$1"; done`,
    ],
    finish: finishTree,
    finishFile: import.meta.filename,
  });
  for (const [name, wanted] of Object.entries(counterparts)) {
    if (tree.packages.some((installed) => wanted.test(installed))) continue;
    throw new AppError('internal', `find ${name} in ${suite}: no package ${wanted.source}`);
  }
  return resolve(tree.path);
}

/** No script of a package has run: makes what theirs would have made. Returns `name=version` of all packages. */
async function finishTree(context: BuildContext, tree: string): Promise<readonly string[]> {
  for (const name of ['passwd', 'group']) {
    await copyFile(join(tree, `usr/share/base-passwd/${name}.master`), join(tree, 'etc', name));
  }
  const authorities = join(tree, 'usr/share/ca-certificates/mozilla');
  const certificates = await Promise.all(
    (await readdir(authorities)).map((file) => readFile(join(authorities, file), 'utf8')),
  );
  await mkdir(join(tree, 'etc/ssl/certs'), { recursive: true });
  await writeFile(join(tree, 'etc/ssl/certs/ca-certificates.crt'), certificates.join(''));
  await writeFile(join(tree, 'etc/hosts'), '127.0.0.1 localhost\n');
  for (const place of ['var/lib/ironic', 'var/log/ironic', 'etc/ironic', 'var/lib/neutron']) {
    await mkdir(join(tree, place), { recursive: true });
  }
  // Ironic brings a hardware manager for HPE's machines, which would take over steps of the agent's own
  const libraries = join(tree, 'usr/lib/python3/dist-packages');
  const foreign = (await readdir(libraries)).filter((name) => /^proliantutils-.*-info$/.test(name));
  for (const name of foreign) await rm(join(libraries, name, 'entry_points.txt'));
  // its tests for tempest, which loads all that are registered, are in no package
  const [withoutTests = ''] = (await readdir(libraries)).filter((name) =>
    name.startsWith('networking_generic_switch-'),
  );
  const entryPoints = join(libraries, withoutTests, 'entry_points.txt');
  const text = await readFile(entryPoints, 'utf8');
  await writeFile(entryPoints, text.replace(/\[tempest\.test_plugins\]\n(.+\n)*/, ''));
  const collections = join(libraries, 'ansible_collections');
  const others = (await readdir(collections)).filter((name) => name !== ansibleCollection);
  for (const name of others) await rm(join(collections, name), { recursive: true });
  // Debian 12's client has functional tests, which are bound here
  await mkdir(join(libraries, 'ironicclient/tests'), { recursive: true });
  await context.run('chroot', [tree, 'ldconfig']);
  await symlink('mawk', join(tree, 'usr/bin/awk'));
  await chmod(join(tree, 'tmp'), 0o1777);
  const archives = join(tree, 'var/cache/apt/archives');
  const versions = (await readdir(archives)).flatMap((file) => parsePackageFile(file) ?? []);
  await rm(archives, { recursive: true });
  return versions;
}
