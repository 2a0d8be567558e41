import { z } from 'zod';

/** `POST /v1/heartbeat/{node}` (agent-protocol.md §2.3): the body the agent sends. */
export const Heartbeat = z.strictObject({
  /** `https://192.0.2.10:9999`, IPv6 addresses in brackets. */
  callback_url: z.string(),
  agent_version: z.string().optional(),
  agent_token: z.string().optional(),
  /** The agent's self-signed certificate, PEM. */
  agent_verify_ca: z.string().optional(),
  agent_status: z.enum(['start', 'end', 'error']).optional(),
  agent_status_message: z.string().optional(),
});
export type Heartbeat = z.infer<typeof Heartbeat>;
