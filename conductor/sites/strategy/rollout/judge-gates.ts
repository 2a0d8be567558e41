import type { Remark } from '#conductor/model/remarks/remark.ts';
import { newRemark } from '#conductor/model/remarks/remark-words.ts';
import type { GateLook, HealthGate } from '#conductor/model/site/health-gate.ts';

/** Gates that are good, or the reason for which nothing is begun; with `pauses` the whole action rests for it. */
export type GateVerdict =
  | { readonly isGood: true }
  | { readonly isGood: false; readonly why: Remark; readonly pauses: boolean };

/** The state that a group's gates are judged with. */
interface GatesNow {
  readonly gates: readonly HealthGate[];
  /** Looks by the gate's name; a gate without one has not been asked, and is not good. */
  readonly looks: ReadonlyMap<string, GateLook>;
  /** Time at which the group's last node ended; milliseconds since 1970. */
  readonly settledAt: number | undefined;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** Judges a group's gates: one that has been bad for longer than its patience comes before one that only waits. Pure. */
export function judgeGates({ gates, looks, settledAt = 0, now }: GatesNow): GateVerdict {
  const verdicts = gates.map((gate) => judge(gate, looks.get(gate.name), { settledAt, now }));
  const bad = verdicts.filter((verdict) => !verdict.isGood);
  return bad.find(({ pauses }) => pauses) ?? bad[0] ?? { isGood: true };
}

function judge(
  { name: gate, hold_seconds: hold, patience_seconds: patience }: HealthGate,
  look: GateLook | undefined,
  { settledAt, now }: { readonly settledAt: number; readonly now: number },
): GateVerdict {
  if (!look) return { isGood: false, why: newRemark('gate-unasked', { gate }), pauses: false };
  const since = iso(look.since);
  if (look.state === 'bad') {
    const end = look.since + patience * 1000;
    if (now >= end) {
      return { isGood: false, why: newRemark('gate-bad', { gate, since, said: look.lastSaid }), pauses: true };
    }
    const why = newRemark('gate-not-good', { gate, since, said: look.said, until: iso(end) });
    return { isGood: false, why, pauses: false };
  }
  const heldFrom = Math.max(look.since, settledAt);
  if (now >= heldFrom + hold * 1000) return { isGood: true };
  const why = newRemark('gate-held', { gate, since: iso(heldFrom), seconds: hold });
  return { isGood: false, why, pauses: false };
}

/** Result of one question. No answer at all is not good either. */
export interface GateAnswer {
  readonly isGood: boolean;
  /** Words for people: `HTTP 503`. */
  readonly said: string;
}

/** Adds an answer to the look at a gate: its time begins with the first answer of a row of the same kind. Pure. */
export function addAnswer(before: GateLook | undefined, { isGood, said }: GateAnswer, now: number): GateLook {
  const state = isGood ? 'good' : 'bad';
  return before?.state === state ? { ...before, lastSaid: said } : { state, since: now, said, lastSaid: said };
}

function iso(time: number): string {
  return new Date(time).toISOString();
}
