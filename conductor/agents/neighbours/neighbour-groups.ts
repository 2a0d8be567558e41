import type { Neighbour } from '#shared/wire/neighbours.ts';

/** A machine that deploys an image. */
export interface GroupMember extends Neighbour {
  /** Its rack and switch, as far as they are known: machines are near each other in the order of these texts. */
  readonly place: string;
}

export interface NeighbourGroups {
  /**
   * Takes the machine in, or keeps it, until `keepMs` from now.
   * @param group what it deploys, for whom, in which network: others never meet
   * @returns the others of its circle
   */
  join(group: string, member: GroupMember, keepMs: number): readonly Neighbour[];
  /** Machines in all groups. */
  size(): number;
}

/** Each knows all others of its circle: the server sends an image about once to each circle. */
export const circleSize = 24;
const forgetEveryMs = 1000;

type Kept = GroupMember & { readonly until: number };

/**
 * Puts machines that deploy the same image into circles of those that stand near each other. In memory, for nothing
 * depends on it: after a restart agents call again.
 * @param now in milliseconds
 */
export function createNeighbourGroups(now: () => number): NeighbourGroups {
  const groups = new Map<string, readonly Kept[]>();
  const state = { forgottenAt: now() };
  const forget = (): void => {
    state.forgottenAt = now();
    for (const [group, members] of groups) {
      const left = members.filter(({ until }) => until > now());
      if (left.length > 0) groups.set(group, left);
      else groups.delete(group);
    }
  };
  return {
    join: (group, member, keepMs) => {
      if (now() - state.forgottenAt > forgetEveryMs) forget();
      const others = (groups.get(group) ?? []).filter(({ id }) => id !== member.id);
      const at = others.findIndex((other) => isBefore(member, other));
      const place = at === -1 ? others.length : at;
      const members = others.toSpliced(place, 0, { ...member, until: now() + keepMs });
      groups.set(group, members);
      return circleAround(members, place)
        .filter(({ id }) => id !== member.id)
        .map(({ id, url, certificate_sha256 }) => ({ id, url, certificate_sha256 }));
    },
    size: () => [...groups.values()].reduce((sum, members) => sum + members.length, 0),
  };
}

function isBefore(a: GroupMember, b: GroupMember): boolean {
  return a.place < b.place || (a.place === b.place && a.id < b.id);
}

/** As many circles as are needed, all of about the same size. */
function circleAround<T>(members: readonly T[], place: number): readonly T[] {
  const size = members.length / Math.ceil(members.length / circleSize);
  const circle = Math.floor(place / size);
  return members.slice(Math.ceil(circle * size), Math.ceil((circle + 1) * size));
}
