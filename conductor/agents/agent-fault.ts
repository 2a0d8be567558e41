import type { ErrorCode } from '#shared/errors/app-error.ts';
import { isSituation, type Situation } from '#shared/errors/fault-codes.ts';
import type { CommandResult } from '#shared/wire/agent-calls.ts';

/** Situations by the code of an error of Baton's agent that names none; `undefined` = nothing more than its words is known. */
const situationOf: Readonly<Partial<Record<ErrorCode, Situation>>> = {
  image_error: 'image_unusable',
};

/**
 * Reads the situation that an agent gives to its failure. An agent that is not Baton's, or an older one, says nothing of it,
 * and one that is newer may say what is not known here: then it is `agent_reported`, never guessed from its words.
 */
export function reportedFault({ command_error: error }: Pick<CommandResult, 'command_error'>): {
  readonly situation: Situation;
  readonly subject?: string;
} {
  const { baton_situation: named = '', baton_code: code = '', baton_subject: subject } = error ?? {};
  const situation = isSituation(named) ? named : (situationOf[code as ErrorCode] ?? 'agent_reported');
  return { situation, ...(subject === undefined ? {} : { subject }) };
}
