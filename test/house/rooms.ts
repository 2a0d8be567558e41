import { isProduct, type Source } from './read-sources.ts';

/** A folder of the program with several rooms, which are the folders in it. */
export interface House {
  /** `conductor/flows` */
  readonly folder: string;
  readonly rooms: readonly string[];
  /** Imports, types too, of one room from another. */
  readonly arrows: readonly (readonly [from: string, to: string])[];
}

/** Lists the folders with two rooms or more; files beside the rooms do not count. */
export function listHouses(sources: readonly Source[]): House[] {
  const product = sources.filter(isProduct);
  const roomsOf = new Map<string, Set<string>>();
  for (const { path } of product) {
    const parts = path.split('/');
    for (let depth = 1; depth < parts.length - 1; depth += 1) {
      const folder = parts.slice(0, depth).join('/');
      roomsOf.set(folder, (roomsOf.get(folder) ?? new Set()).add(parts[depth] ?? ''));
    }
  }
  return [...roomsOf]
    .filter(([, rooms]) => rooms.size > 1)
    .map(([folder, rooms]) => {
      const roomOf = (path: string): string | undefined => {
        const [room, inside] = path.startsWith(`${folder}/`) ? path.slice(folder.length + 1).split('/') : [];
        return inside !== undefined && room !== undefined && rooms.has(room) ? room : undefined;
      };
      const arrows = product.flatMap(({ path, imports, typeImports }) => {
        const from = roomOf(path);
        return [...imports, ...typeImports].flatMap((imported) => {
          const to = roomOf(imported);
          return from !== undefined && to !== undefined && from !== to ? [[from, to] as const] : [];
        });
      });
      return { folder, rooms: [...rooms].sort(), arrows };
    });
}

/**
 * Finds what is wrong with a README's list of rooms: the names in backquotes behind "rooms from top to bottom", in the order
 * in which each stands there first.
 */
export function findRoomFaults({ folder, rooms, arrows }: House, readme: string | undefined): string[] {
  const place = `${folder}/README.md`;
  const [, list] = readme?.split(/rooms,? from top to bottom/i) ?? [];
  if (list === undefined) return [`${place} names no "rooms from top to bottom": ${rooms.join(', ')}`];
  const named = [...list.matchAll(/`([\w-]+)`/g)].map(([, name = '']) => name).filter((name) => rooms.includes(name));
  const order = [...new Set(named)];
  const absent = rooms.filter((room) => !order.includes(room)).map((room) => `${place}: ${room} is missing`);
  const upward = arrows
    .filter(([from, to]) => order.indexOf(to) < order.indexOf(from))
    .map(([from, to]) => `${place}: ${from} imports ${to}, which stands above it`);
  return [...absent, ...new Set(absent.length > 0 ? [] : upward)];
}
