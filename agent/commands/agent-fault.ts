import { AppError, errorChain, faultOf } from '#shared/errors/app-error.ts';
import { isSituation } from '#shared/errors/fault-codes.ts';
import type { CommandError } from '#shared/wire/agent-calls.ts';

/** The wire's error types (agent-protocol.md §4) that Baton's agent uses: HTTP code and general message of each. */
const faultTypes = {
  InvalidContentError: { code: 400, message: '400 Bad Request' },
  InvalidCommandError: { code: 400, message: 'Invalid command' },
  InvalidCommandParamsError: { code: 400, message: 'Invalid command parameters' },
  RequestedObjectNotFoundError: { code: 404, message: 'Not found' },
  AgentIsBusy: { code: 409, message: 'Agent is busy' },
  VersionMismatch: {
    code: 409,
    message: 'Hardware managers version mismatch, reload agent with correct version',
  },
  CommandExecutionError: { code: 500, message: 'Command execution failed' },
  HardwareManagerMethodNotFound: { code: 500, message: 'No HardwareManager found to handle method' },
  DeploymentError: { code: 500, message: 'Deploy step failed' },
  CleaningError: { code: 500, message: 'Clean step failed' },
  ServicingError: { code: 500, message: 'Service step failed' },
} as const satisfies Record<string, { readonly code: number; readonly message: string }>;
export type FaultType = keyof typeof faultTypes;

/** An error in the wire's own terms: the answer to a refused request, or the `command_error` of a failed command. */
export class AgentFault extends Error {
  override readonly name = 'AgentFault';
  readonly type: FaultType;
  readonly code: 400 | 404 | 409 | 500;
  readonly details: string;
  /** The error that `details` describes. Not the `cause`: the chain would say it twice. */
  readonly origin: unknown;

  constructor(type: FaultType, details: string, origin?: unknown) {
    super(`${faultTypes[type].message}: ${details}`);
    this.type = type;
    this.origin = origin;
    this.code = faultTypes[type].code;
    this.details = details;
  }
}

/** `command_error` of a failed command: `details` carries the whole cause chain, since that is what conductors show. */
export function toCommandError(error: unknown, otherwise: FaultType = 'CommandExecutionError'): CommandError {
  const fault = error instanceof AgentFault ? error : new AgentFault(otherwise, errorChain(error));
  const origin = fault.origin ?? error;
  return {
    type: fault.type,
    code: fault.code,
    message: faultTypes[fault.type].message,
    details: fault.details,
    // ours: lets Baton's conductor distinguish a full disk from a lost network; Ironic's reads the four keys above
    ...(origin instanceof AppError ? { baton_code: origin.code, baton_retryable: origin.retryable } : {}),
    ...situationOf(origin),
  };
}

function situationOf(origin: unknown): Pick<CommandError, 'baton_situation' | 'baton_subject'> {
  const { code, subject } = faultOf(origin);
  return {
    ...(isSituation(code) ? { baton_situation: code } : {}),
    ...(subject === undefined ? {} : { baton_subject: subject }),
  };
}
