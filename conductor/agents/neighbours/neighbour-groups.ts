import type { Neighbour } from '#shared/wire/neighbours.ts';

/** A machine that deploys an image. */
export interface GroupMember extends Neighbour {
  /** The same in every group, unlike `id`: a machine is in one group at a time. */
  readonly node: string;
  /** Its rack and switch, as far as they are known: machines are near each other in the order of these texts. */
  readonly place: string;
}

export interface NeighbourGroups {
  /**
   * Takes the machine in, or keeps it, until `keepMs` from now; it leaves the group in which it was.
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
  /** Of each node. */
  const joined = new Map<string, string>();
  const state = { forgottenAt: now() };
  const keep = (group: string, members: readonly Kept[]): void => {
    if (members.length > 0) groups.set(group, members);
    else groups.delete(group);
  };
  const forget = (): void => {
    state.forgottenAt = now();
    for (const [group, members] of groups) {
      const left = members.filter(({ until }) => until > now());
      for (const { node, until } of members) if (until <= now()) joined.delete(node);
      keep(group, left);
    }
  };
  const without = (group: string, { node }: GroupMember): readonly Kept[] =>
    (groups.get(group) ?? []).filter((other) => other.node !== node);
  return {
    join: (group, member, keepMs) => {
      if (now() - state.forgottenAt > forgetEveryMs) forget();
      const before = joined.get(member.node);
      if (before !== undefined && before !== group) keep(before, without(before, member));
      joined.set(member.node, group);
      const others = without(group, member);
      const at = others.findIndex((other) => isBefore(member, other));
      const place = at === -1 ? others.length : at;
      const members = others.toSpliced(place, 0, { ...member, until: now() + keepMs });
      groups.set(group, members);
      return circleAround(members, place)
        .filter(({ id }) => id !== member.id)
        .map(({ id, url, certificate_sha256 }) => ({ id, url, certificate_sha256 }));
    },
    size: () => joined.size,
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
