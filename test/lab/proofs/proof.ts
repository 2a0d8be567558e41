/** A fact that a lab run shows of a deploy, and whether it is as it should be. */
export interface Proof {
  readonly what: string;
  readonly holds: boolean;
  /** The observation. */
  readonly seen: string;
}
