import type { GateLook, GateLooks, GateQuestion } from '#conductor/model/site/health-gate.ts';
import { addAnswer, type GateAnswer } from '#conductor/sites/strategy/rollout/judge-gates.ts';
import type { AskedGates } from '#conductor/sites/strategy/rollout/look-at-gates.ts';

export interface GateWatchOptions {
  /** Asks once; rejects only when the signal aborts. */
  readonly ask: (question: GateQuestion, signal: AbortSignal) => Promise<GateAnswer>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Called when a gate has answered otherwise than before. */
  readonly changed: () => void;
}

/** The gates of one action, asked over and over beside its beats, which never wait for an answer. */
export interface GateWatch {
  /**
   * Asks these gates, where that is due, and no others: what was seen of those is forgotten, since from then on nobody
   * knows whether they are good.
   * @returns what was seen of them so far
   */
  look(asked: readonly AskedGates[]): GateLooks;
  /** Breaks off all questions, and waits for that. */
  stop(): Promise<void>;
}

/** Milliseconds between two questions to a gate. */
const gateEveryMs = 5_000;
/** Milliseconds after which an answer is too old to be one of a row: a question takes up to five seconds. */
const gapMs = 4 * gateEveryMs;

interface Watched {
  look?: GateLook;
  askedAt?: number;
  answeredAt?: number;
}

/** Watches gates by questions to each, one at a time. */
export function watchGates({ ask, now, changed }: GateWatchOptions): GateWatch {
  const watched = new Map<string, Watched>();
  const stopping = new AbortController();
  /** Questions without an answer yet, also to gates that are forgotten meanwhile. */
  const open = new Map<Watched, Promise<void>>();

  const take = (gate: Watched, answer: GateAnswer): void => {
    const at = now();
    const isOfRow = gate.answeredAt !== undefined && at - gate.answeredAt <= gapMs;
    const before = isOfRow ? gate.look : undefined;
    gate.look = addAnswer(before, answer, at);
    gate.answeredAt = at;
    if (gate.look.state !== before?.state) changed();
  };
  const askOnce = async (gate: Watched, question: GateQuestion): Promise<void> => {
    gate.askedAt = now();
    try {
      take(gate, await ask(question, stopping.signal));
    } catch (error) {
      if (!stopping.signal.aborted) take(gate, { isGood: false, said: String(error) });
    }
  };
  return {
    look: (asked) => {
      const keys = new Set<string>();
      const looks = asked.map(({ group, gates }): [string, ReadonlyMap<string, GateLook>] => {
        const seen = gates.flatMap((gate): [string, GateLook][] => {
          const key = JSON.stringify([group, gate.name]);
          keys.add(key);
          const state = watched.get(key) ?? {};
          watched.set(key, state);
          const isDue = state.askedAt === undefined || now() - state.askedAt >= gateEveryMs;
          if (isDue && !open.has(state)) {
            open.set(
              state,
              askOnce(state, gate).finally(() => open.delete(state)),
            );
          }
          return state.look ? [[gate.name, state.look]] : [];
        });
        return [group, new Map(seen)];
      });
      for (const key of watched.keys()) if (!keys.has(key)) watched.delete(key);
      return new Map(looks);
    },
    stop: async () => {
      stopping.abort(new Error('the action has ended'));
      await Promise.all(open.values());
    },
  };
}
