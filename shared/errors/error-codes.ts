/**
 * The closed list of error codes. A code says which kind of thing went wrong; the HTTP layer maps it to a status
 * (`conductor/http/routing/error-answers.ts`, `agent/http/app.ts`).
 */
export const errorCodes = [
  'invalid_argument',
  'unauthorized',
  'forbidden',
  'not_found',
  'not_acceptable',
  'conflict',
  'node_locked',
  'power_held',
  'busy',
  'not_supported',
  'unavailable',
  'timeout',
  'aborted',
  'lease_lost',
  'command_failed',
  'bmc_error',
  'switch_error',
  'agent_error',
  'image_error',
  'storage_error',
  'version_mismatch',
  'database_error',
  'internal',
] as const;

export type ErrorCode = (typeof errorCodes)[number];
