import { z } from 'zod';

/** The agent's command API (agent-protocol.md §4). */

const commandStatuses = ['RUNNING', 'SUCCEEDED', 'FAILED', 'CLEAN_VERSION_MISMATCH'] as const;
export type CommandStatus = (typeof commandStatuses)[number];

export const CommandError = z.looseObject({
  type: z.string().optional(),
  code: z.number().optional(),
  message: z.string().nullish(),
  details: z.string().nullish(),
});
export type CommandError = z.infer<typeof CommandError>;

/** One command as the agent reports it: exactly these five keys. */
export const CommandResult = z.object({
  id: z.string(),
  /** Without the extension prefix: `execute_deploy_step`. */
  command_name: z.string(),
  command_status: z.string(),
  command_error: CommandError.nullable(),
  command_result: z.unknown(),
});
export type CommandResult = z.infer<typeof CommandResult>;

export const CommandList = z.object({ commands: z.array(CommandResult) });

/** `POST /v1/commands/`: `name` is `<extension>.<command>`. */
export const CommandRequest = z.object({
  name: z.string(),
  params: z.record(z.string(), z.unknown()),
});
export type CommandRequest = z.infer<typeof CommandRequest>;

/** Error bodies are flat and always carry `faultstring`. */
export const AgentFault = z.looseObject({ faultcode: z.string().optional(), faultstring: z.string() });
