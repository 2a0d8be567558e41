/** What a lab run shows of a deploy, and whether it is as it should be. */
export interface Proof {
  readonly what: string;
  readonly holds: boolean;
  /** What was seen. */
  readonly seen: string;
}
