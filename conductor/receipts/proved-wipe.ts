import { z } from 'zod';
import { EraseResult } from '#shared/wire/erase-result.ts';

/** What `deploy.wipe_disks` has come to: the agent's answer, which proves each disk, and what that agent was. */
export const ProvedWipe = EraseResult.extend({
  /** By its heartbeats, which have ended when the receipt is signed. */
  agent_version: z.string().nullable().default(null),
});
export type ProvedWipe = Readonly<z.infer<typeof ProvedWipe>>;
