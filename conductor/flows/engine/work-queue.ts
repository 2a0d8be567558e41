import type { Clock } from '#shared/clock.ts';

/**
 * The party that has nudged for a node: its agent, which is idle until it is answered; a user, who can wait a moment;
 * another conductor, whose nudge is not passed on again.
 */
export type NudgeOrigin = 'agent' | 'operator' | 'another conductor';

/** A timer that is this late says that the process has more to do than it can. */
const lateMs = 20;
/**
 * How many nodes may be at work at once; work that takes longer only waits for something outside. Where no agent has
 * called for a while nobody stands idle meanwhile: then more begin at once, since they wait for the disk most of the time,
 * and some do however late the timers are, for it may be other processes that keep them late.
 */
const limits = {
  withAgents: { most: 4, always: 0, inATurn: 1 },
  withoutAgents: { most: 16, always: 6, inATurn: 4 },
} as const;
const agentsStayMs = 2_000;
/** Whether agents are about to call is not known when the first of many nodes begins. */
const agentsMayComeMs = 600;
export const youngMs = 500;
const paceMs = 4;
/** New work begins this often even then. */
const atLeastEveryMs = 1_000;

/** The order in which nodes get their turn. */
export interface Turns {
  take(nodeUuid: string, origin: NudgeOrigin): void;
  /** Room has become free. */
  next(): void;
  close(): void;
}

/**
 * Agents that wait come first; whatever else is to be done begins one after the other, operators' requests before what
 * is merely due, as long as the process keeps up. So five hundred deploys asked for at once are begun as fast as they can
 * be served, and the steps of those that are under way do not queue behind those that have not begun.
 */
export function createTurns(options: {
  readonly clock: Clock;
  readonly hasRoom: () => boolean;
  /** Nodes whose work has begun within the last `youngMs`. */
  readonly youngAtWork: () => number;
  readonly begin: (nodeUuid: string, origin: NudgeOrigin) => void;
}): Turns {
  const { clock, hasRoom, youngAtWork, begin } = options;
  const urgent = new Set<string>();
  const asked = new Set<string>();
  const due = new Set<string>();
  const state = { isPacing: false, isClosed: false, agentAt: Number.NEGATIVE_INFINITY };

  const beginUrgent = (): void => {
    for (const nodeUuid of urgent) {
      if (state.isClosed || !hasRoom()) return;
      urgent.delete(nodeUuid);
      begin(nodeUuid, 'agent');
    }
  };
  const beginOther = (): void => {
    for (const [queue, origin] of [
      [asked, 'operator'],
      [due, 'another conductor'],
    ] as const) {
      const [next] = queue;
      if (next === undefined) continue;
      asked.delete(next);
      due.delete(next);
      begin(next, origin);
      return;
    }
  };
  const pace = async (): Promise<void> => {
    let begunAt = Number.NEGATIVE_INFINITY;
    while (asked.size + due.size > 0 && !state.isClosed) {
      const before = clock.now().getTime();
      await clock.sleep(paceMs);
      const now = clock.now().getTime();
      const { most, always, inATurn } = now - state.agentAt < agentsStayMs ? limits.withAgents : limits.withoutAgents;
      const young = youngAtWork();
      const isOnTime = now - before - paceMs < lateMs;
      const room = urgent.size > 0 ? 0 : (isOnTime ? most : always) - young;
      if (!hasRoom() || (room <= 0 && now - begunAt < atLeastEveryMs)) continue;
      beginOther();
      for (let more = 1; more < Math.min(room, inATurn) && hasRoom(); more += 1) beginOther();
      begunAt = now;
    }
    state.isPacing = false;
  };
  return {
    take: (nodeUuid, origin) => {
      if (origin === 'agent') {
        state.agentAt = clock.now().getTime();
        asked.delete(nodeUuid);
        due.delete(nodeUuid);
        urgent.add(nodeUuid);
        beginUrgent();
        return;
      }
      if (urgent.has(nodeUuid)) return;
      (origin === 'operator' ? asked : due).add(nodeUuid);
      if (state.isPacing || state.isClosed) return;
      state.isPacing = true;
      state.agentAt = Math.max(state.agentAt, clock.now().getTime() - agentsStayMs + agentsMayComeMs);
      void pace();
    },
    next: beginUrgent,
    close: () => {
      state.isClosed = true;
      urgent.clear();
      asked.clear();
      due.clear();
    },
  };
}
