import { z } from 'zod';

/**
 * How far a running in-band step is, for the operator's eyes only: nothing is decided from it.
 * `POST /v1/progress/{node uuid}`, Baton's own; answers 204, 400 or 404.
 */
export const Progress = z.object({
  /** What is happening now, as a person would say it: `writing image`. */
  phase: z.string().max(100),
  /** Bytes of the image as downloaded (compressed where it is). */
  done_bytes: z.number().int().nonnegative().optional(),
  total_bytes: z.number().int().nonnegative().optional(),
  /** Of an image in chunks, of `done_bytes`: what the disk held in place, and elsewhere. */
  kept_bytes: z.number().int().nonnegative().optional(),
  copied_bytes: z.number().int().nonnegative().optional(),
  /** Of an image in chunks: bytes that came from its server, and from machines that deploy it too, compressed. */
  fetched_bytes: z.number().int().nonnegative().optional(),
  neighbour_bytes: z.number().int().nonnegative().optional(),
  /** Bytes per second over the last interval. */
  rate: z.number().nonnegative().optional(),
});
export type Progress = z.infer<typeof Progress>;

export const ProgressReport = z.strictObject({
  agent_token: z.string(),
  /** The command's id, which is the flow step's uuid. */
  command_id: z.string(),
  progress: Progress,
});
export type ProgressReport = z.infer<typeof ProgressReport>;
