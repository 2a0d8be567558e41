import {
  chmod,
  copyFile,
  cp,
  lstat,
  mkdir,
  readdir,
  readFile,
  readlink,
  realpath,
  rm,
  symlink,
} from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { type BuildContext, paths } from '#image-build/build-context.ts';
import { isPresent } from '#image-build/files.ts';
import { libraryClosure } from '#image-build/ramdisk/library-closure.ts';
import {
  dataPaths,
  grubExceptions,
  grubPlatforms,
  moduleExceptions,
  modulePaths,
  programPaths,
  programs,
  udevRules,
} from '#image-build/ramdisk/recipe.ts';
import { selectModules } from '#image-build/ramdisk/select-modules.ts';
import { AppError } from '#shared/errors/app-error.ts';

const mountPoints = ['dev', 'proc', 'sys', 'run', 'tmp', 'mnt', 'root', 'etc', 'var', 'usr/bin', 'usr/sbin', 'usr/lib'];
const dynamicLinker = 'usr/lib64/ld-linux-x86-64.so.2';
const searchPath = ['usr/sbin', 'usr/bin'];

/**
 * Everything in the ramdisk but the agent and the overlay, laid out in `stage`: programs with their libraries, Node,
 * kernel modules, udev's rules.
 */
export async function stageBase(context: BuildContext, tree: string, stage: string, kernel: string): Promise<void> {
  await rm(stage, { recursive: true, force: true });
  for (const folder of mountPoints) await mkdir(join(stage, folder), { recursive: true });
  for (const folder of ['bin', 'sbin', 'lib']) await symlink(`usr/${folder}`, join(stage, folder));
  await mkdir(join(stage, 'usr/lib64'));
  await symlink('usr/lib64', join(stage, 'lib64'));
  await symlink('../run', join(stage, 'var/run'));

  const node = await stageNode(context, stage);
  const chosen = [...(await findPrograms(tree)), ...programPaths];
  const binaries = await Promise.all(chosen.map((program) => realpathInTree(tree, program)));
  const terminalAddon = join(paths.terminalAddon.directory, 'pty.node'); // itself it comes with the agent
  const libraries = await libraryClosure(context.run, tree, [...binaries, node, terminalAddon]);
  const rules = udevRules.map((rule) => `usr/lib/udev/rules.d/${rule}.rules`);
  for (const path of [...chosen, dynamicLinker, ...libraries, ...rules]) await copyWithTarget(tree, stage, path);
  for (const path of dataPaths) {
    await cp(join(tree, path), join(stage, path), { recursive: true, verbatimSymlinks: true });
  }
  for (const platform of grubPlatforms) await stageGrub(tree, stage, join('usr/lib/grub', platform));
  await linkBusybox(context, stage);
  await stageModules(context, tree, stage, kernel);
}

async function findPrograms(tree: string): Promise<string[]> {
  const found: string[] = [];
  for (const program of programs) {
    const places = searchPath.map((folder) => join(folder, program));
    const present = await Promise.all(places.map((place) => isPresent(join(tree, place))));
    const path = places[present.indexOf(true)];
    if (path === undefined) throw new AppError('not_found', `no program ${program} in the packages of the ramdisk`);
    found.push(path);
  }
  return found;
}

/** Boot images, lists, and modules with all that these need; the folders have whole loaders besides, which are large. */
async function stageGrub(tree: string, stage: string, folder: string): Promise<void> {
  await mkdir(join(stage, folder), { recursive: true });
  const names = (await readdir(join(tree, folder))).filter((name) => /\.(img|lst|mod)$/.test(name));
  const needs = new Map(
    (await readFile(join(tree, folder, 'moddep.lst'), 'utf8')).split('\n').map((line) => {
      const [module = '', rest = ''] = line.split(':');
      return [`${module}.mod`, rest.split(' ').flatMap((each) => (each === '' ? [] : [`${each}.mod`]))];
    }),
  );
  const chosen = new Set<string>();
  const choose = (name: string): void => {
    if (chosen.has(name)) return;
    chosen.add(name);
    needs.get(name)?.forEach(choose);
  };
  names.filter((name) => !grubExceptions.test(name)).forEach(choose);
  for (const name of chosen) await copyFile(join(tree, folder, name), join(stage, folder, name));
}

/** Without its symbols Node is 18 MB smaller. */
async function stageNode(context: BuildContext, stage: string): Promise<string> {
  const node = join(stage, 'usr/bin/node');
  await copyFile(await realpath(paths.nodeBinary), node);
  await chmod(node, 0o755);
  await context.run('strip', ['--strip-all', node]);
  return node;
}

async function stageModules(context: BuildContext, tree: string, stage: string, kernel: string): Promise<void> {
  const folder = `usr/lib/modules/${kernel}`;
  const modules = selectModules(
    await readFile(join(tree, folder, 'modules.dep'), 'utf8'),
    await readFile(join(tree, folder, 'modules.softdep'), 'utf8'),
    { paths: modulePaths, exceptions: moduleExceptions },
  );
  for (const file of [...modules, 'modules.builtin', 'modules.builtin.modinfo', 'modules.order']) {
    await copyWithTarget(tree, stage, join(folder, file));
  }
  await context.run('depmod', ['--basedir', stage, kernel]);
}

/** A link for each of busybox's applets that no real program stands for. */
async function linkBusybox(context: BuildContext, stage: string): Promise<void> {
  const { stdout } = await context.run(join(stage, 'usr/bin/busybox'), ['--list']);
  for (const applet of stdout.split('\n').filter(Boolean)) {
    const taken = await Promise.all(searchPath.map((folder) => isPresent(join(stage, folder, applet))));
    if (!taken.includes(true)) await symlink('busybox', join(stage, 'usr/bin', applet));
  }
}

/** Copies a file of the tree; of a link both the link and what it leads to, step by step. */
async function copyWithTarget(tree: string, stage: string, path: string): Promise<void> {
  const source = join(tree, path);
  const target = join(stage, path);
  if (await isPresent(target)) return;
  await mkdir(dirname(target), { recursive: true });
  if (!(await lstat(source)).isSymbolicLink()) {
    await copyFile(source, target);
    return;
  }
  const link = await readlink(source);
  await symlink(link, target);
  const next = link.startsWith('/') ? link.slice(1) : join(dirname(path), link);
  await copyWithTarget(tree, stage, next.replace(/^(bin|sbin|lib|lib64)\//, 'usr/$1/'));
}

/** The file behind a path; absolute links are read as inside the tree. */
async function realpathInTree(tree: string, path: string): Promise<string> {
  const source = join(tree, path);
  if (!(await lstat(source)).isSymbolicLink()) return source;
  const link = await readlink(source);
  return realpathInTree(tree, link.startsWith('/') ? link.slice(1) : relative('.', join(dirname(path), link)));
}
