import { AppError } from '#shared/errors/app-error.ts';

export interface ModuleSelection {
  /** Folders or files below `kernel/`. */
  readonly paths: readonly string[];
  /** Tried on the path below `kernel/`; a module that another one depends on is taken all the same. */
  readonly exceptions: readonly RegExp[];
}

/**
 * The modules to ship with all that they depend on, as paths like `kernel/fs/ext4/ext4.ko`, sorted.
 * @param dependencies the text of `modules.dep` (`path: path path…`, depmod's format)
 * @param softDependencies the text of `modules.softdep` (`softdep ext4 pre: crc32c`)
 * @throws AppError `not_found` when a path selects nothing: the kernel has moved or dropped it
 */
export function selectModules(dependencies: string, softDependencies: string, selection: ModuleSelection): string[] {
  const needs = parseModulesDep(dependencies);
  const soft = parseSoftDependencies(softDependencies);
  const byName = new Map([...needs.keys()].map((path) => [moduleName(path), path]));
  const isExcepted = (path: string): boolean =>
    selection.exceptions.some((exception) => exception.test(path.slice('kernel/'.length)));
  const selected = new Set<string>();
  const add = (path: string): void => {
    if (selected.has(path)) return;
    selected.add(path);
    needs.get(path)?.forEach(add);
    for (const name of soft.get(moduleName(path)) ?? []) {
      const wanted = byName.get(name);
      if (wanted !== undefined && !isExcepted(wanted)) add(wanted);
    }
  };
  for (const wanted of selection.paths) {
    const found = [...needs.keys()].filter((path) => isAtOrBelow(path, `kernel/${wanted}`));
    if (found.length === 0) throw new AppError('not_found', `this kernel has no module at kernel/${wanted}`);
    found.filter((path) => !isExcepted(path)).forEach(add);
  }
  return [...selected].sort();
}

function isAtOrBelow(path: string, wanted: string): boolean {
  return path === wanted || path.startsWith(`${wanted}/`);
}

function parseModulesDep(text: string): Map<string, string[]> {
  const pairs = text
    .split('\n')
    .filter(Boolean)
    .map((line): [string, string[]] => {
      const [path = '', rest = ''] = line.split(':');
      return [path, rest.split(' ').filter(Boolean)];
    });
  return new Map(pairs);
}

function parseSoftDependencies(text: string): Map<string, string[]> {
  const soft = new Map<string, string[]>();
  for (const line of text.split('\n')) {
    const [keyword, name, ...rest] = line.trim().split(/\s+/);
    if (keyword !== 'softdep' || name === undefined) continue;
    const names = rest.filter((word) => !word.endsWith(':')).map(moduleName);
    soft.set(moduleName(name), [...(soft.get(moduleName(name)) ?? []), ...names]);
  }
  return soft;
}

/** `kernel/crypto/crc32c_generic.ko` → `crc32c_generic`; the kernel treats - and _ alike. */
function moduleName(path: string): string {
  return path.replace(/^.*\//, '').replace(/\.ko$/, '').replaceAll('-', '_');
}
