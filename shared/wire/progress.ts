import { z } from 'zod';

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

/**
 * Describes the origin of the bytes, behind the words with which Ironic's agent answers a write: the answer is one string,
 * and clients read its beginning.
 */
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

const bytes = z.number().int().nonnegative().max(Number.MAX_SAFE_INTEGER);
/** Characters of an error in a report. */
export const longestError = 300;
/** Greatest number of seconds or tries in a report: PostgreSQL compares them as integers. */
const most = 1_000_000_000;

/**
 * How far a running in-band step is, for the operator's eyes only: nothing is decided from it.
 * `POST /v1/progress/{node uuid}`, Baton's own; answers 204, 400 or 404.
 */
export const Progress = z.object({
  /** The present work, as a person would say it: `writing image`. */
  phase: z.string().max(100),
  /** Bytes of the image as downloaded (compressed where it is). */
  done_bytes: bytes.optional(),
  total_bytes: bytes.optional(),
  /** Bytes, of `done_bytes` of an image in chunks, that the disk held in place, and elsewhere. */
  kept_bytes: bytes.optional(),
  copied_bytes: bytes.optional(),
  /** Bytes of an image in chunks that came from its server, and from machines that deploy it too, compressed. */
  fetched_bytes: bytes.optional(),
  neighbour_bytes: bytes.optional(),
  /** Bytes per second over the last interval. */
  rate: z.number().nonnegative().max(Number.MAX_SAFE_INTEGER).optional(),
  /** Seconds since the last byte came, where none has for a while. */
  still_seconds: z.number().int().nonnegative().max(most).optional(),
  /** Tries that have failed, why the last one did, and its situation and subject; until bytes come again. */
  tries: z.number().int().nonnegative().max(most).optional(),
  last_error: z.string().max(longestError).optional(),
  situation: z.string().max(100).optional(),
  subject: z.string().max(longestError).optional(),
});
export type Progress = z.infer<typeof Progress>;

export const ProgressReport = z.strictObject({
  agent_token: z.string(),
  /** The command's id, which is the flow step's uuid. */
  command_id: z.string(),
  progress: Progress,
});
export type ProgressReport = z.infer<typeof ProgressReport>;
