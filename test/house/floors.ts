import { graphOf, knotted } from './knots.ts';
import { isProduct, type Source } from './read-sources.ts';

/**
 * The conductor's folders from top to bottom. A file imports, types too, from its own folder and from those below; folders
 * of one floor do not know each other.
 */
export const floors: readonly (readonly string[])[] = [
  ['start', 'bundle'],
  ['board'],
  ['http', 'cli'],
  ['cluster-steps'],
  ['sites'],
  ['flows'],
  ['agents', 'allocations', 'auth', 'images', 'receipts', 'templates', 'webhooks'],
  ['nodes'],
  ['boot', 'cluster', 'drivers', 'networks'],
  ['kernel'],
  ['api'],
  ['model'],
];

/** The agent's, in the same way; files beside the folders are rooms of their own. */
export const agentFloors: readonly (readonly string[])[] = [
  ['main.ts'],
  ['agent.ts'],
  ['http', 'inspection'],
  ['agent-inventory.ts', 'commands', 'custom', 'session.ts'],
  ['hardware', 'heartbeat.ts'],
  ['lookup.ts', 'set-clock.ts', 'steps'],
  ['attest.ts', 'kexec', 'plugin'],
  ['boot', 'burnin'],
  ['erase', 'inject'],
  ['image', 'raid'],
  ['bios', 'scripts', 'storage', 'tpm'],
  ['context.ts', 'machine', 'serve'],
  ['advertised-address.ts', 'api', 'config.ts', 'console', 'image-means', 'network', 'progress.ts', 'recent-log.ts'],
  ['say.ts', 'tls.ts', 'version.ts'],
];

/** Floors below that are none of a folder's business. */
const strangers: Readonly<Record<string, (folder: string) => boolean>> = {
  // what talks to hardware and clusters is given what it needs, and knows no rows
  boot: (folder) => folder.startsWith('kernel/db'),
  cluster: (folder) => folder.startsWith('kernel/db'),
  drivers: (folder) => folder.startsWith('kernel/db'),
  networks: (folder) => folder.startsWith('kernel/db'),
  // a client of the API, which runs where no conductor is
  cli: (folder) => !/^(api|model)\//.test(folder),
  board: (folder) => !/^(cli|api|model)\//.test(folder),
};

/** `conductor/nodes/ports/port-store.ts` → `nodes`. */
export function folderOf(path: string): string {
  return path.split('/')[1] ?? '';
}

/** `flows/engine/run-flow.ts → start/conductor-steps.ts` for each import of the program that its table forbids. */
export function findOffences(sources: readonly Source[], program: 'conductor' | 'agent' = 'conductor'): string[] {
  const table = program === 'agent' ? agentFloors : floors;
  const height = new Map(table.flatMap((folders, index) => folders.map((folder) => [folder, index] as const)));
  const isForbidden = (importer: string, imported: string): boolean => {
    const [from, to] = [folderOf(importer), folderOf(imported)];
    if (from === to) return false;
    if (program === 'conductor' && strangers[from]?.(imported.replace('conductor/', ''))) return true;
    return !((height.get(to) ?? -1) > (height.get(from) ?? table.length));
  };
  return sources
    .filter((source) => isProduct(source) && source.path.startsWith(`${program}/`))
    .flatMap(({ path, imports, typeImports }) =>
      [...imports, ...typeImports]
        .filter((imported) => imported.startsWith(`${program}/`) && isForbidden(path, imported))
        .map((imported) => `${path} → ${imported}`.replaceAll(`${program}/`, '')),
    )
    .sort();
}

/** Folders within a floor's folder, `sites/nodes`, from which imports lead back to themselves; files beside them don't count. */
export function findKnots(sources: readonly Source[]): string[] {
  const roomOf = (path: string) => /^conductor\/([^/]+\/[^/]+)\//.exec(path)?.[1];
  const arrows = sources.filter(isProduct).flatMap(({ path, imports, typeImports }) =>
    [...imports, ...typeImports].flatMap((imported) => {
      const [from, to] = [roomOf(path), roomOf(imported)];
      return from !== undefined && to !== undefined ? [[from, to] as const] : [];
    }),
  );
  return knotted(graphOf(arrows));
}
