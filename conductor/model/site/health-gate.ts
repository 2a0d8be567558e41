/**
 * A group's own check of what its nodes serve, beside what is asked of each node as its deploy ends. As long as a gate is
 * not good, no further node begins and the group does not succeed.
 */
export interface HealthGate extends GateQuestion {
  /** Name in all that is said about it; unique in its group. */
  readonly name: string;
  /** Time for which it must have been good without a break, since the group's last node ended as well. */
  readonly hold_seconds: number;
  /** Time for which it may be bad before the action pauses. */
  readonly patience_seconds: number;
}

/** One of the questions that can be asked: exactly one of `http`, `tcp` and `prometheus` is given. */
export interface GateQuestion {
  /** A URL, whose answer must be 200 to 299. */
  readonly http?: string;
  /** `HOST:PORT`, which must take a connection. */
  readonly tcp?: string;
  /** URL of a Prometheus, without `/api/v1`, which is asked for the value of `query`. */
  readonly prometheus?: string;
  /** Query that gives one number; no series and several are not good. */
  readonly query?: string;
  /** Smallest and largest value that is good; a gate of Prometheus has at least one of them. */
  readonly at_least?: number;
  readonly at_most?: number;
}

/** State of a gate as it was seen by the looks so far; without a look there is none. */
export interface GateLook {
  /** No answer is `bad`, like a wrong one: it never counts as good. */
  readonly state: 'good' | 'bad';
  /** Time of the first of the looks that agree, in a row; milliseconds since 1970. */
  readonly since: number;
  /** The first of their answers, for people: `HTTP 503`. */
  readonly said: string;
  readonly lastSaid: string;
}

/** Looks by group, then by the gate's name. */
export type GateLooks = ReadonlyMap<string, ReadonlyMap<string, GateLook>>;
