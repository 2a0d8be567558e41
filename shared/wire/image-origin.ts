/** Where the bytes of an image in chunks came from. */
export interface BytesByOrigin {
  /** The disk held them in place. */
  readonly kept: number;
  /** The disk held them elsewhere. */
  readonly copied: number;
  /** The image's server sent them; as they were sent, compressed. */
  readonly fetched: number;
  /** Machines that deploy the same image sent them; likewise. */
  readonly neighbours: number;
}

/** Behind what Ironic's agent answers a write with: the answer is one string, and clients read its beginning. */
export function describeOrigin({ kept, copied, fetched, neighbours }: BytesByOrigin): string {
  return `kept_bytes=${kept} copied_bytes=${copied} fetched_bytes=${fetched} neighbour_bytes=${neighbours}`;
}

/** Reads what `describeOrigin` made out of a write's answer; `undefined` when it is not there. */
export function readOrigin(answer: unknown): BytesByOrigin | undefined {
  const found =
    typeof answer === 'string'
      ? / kept_bytes=(\d{1,15}) copied_bytes=(\d{1,15}) fetched_bytes=(\d{1,15})(?: neighbour_bytes=(\d{1,15}))?$/.exec(
          answer,
        )
      : null;
  if (!found) return undefined;
  const [kept = 0, copied = 0, fetched = 0, neighbours = 0] = found.slice(1).map((digits) => Number(digits ?? 0));
  return { kept, copied, fetched, neighbours };
}
