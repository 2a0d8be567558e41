import { readAnswer } from '#agent/tpm/read-answer.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { numbers, sized } from '#shared/tpm/write-fields.ts';

/** Commands that attestation takes, with their codes (TCG TPM 2.0 Library, part 2, 6.5.2). */
const codes = {
  TPM2_CreatePrimary: 0x131,
  TPM2_ActivateCredential: 0x147,
  TPM2_NV_Read: 0x14e,
  TPM2_PolicySecret: 0x151,
  TPM2_Quote: 0x158,
  TPM2_FlushContext: 0x165,
  TPM2_NV_ReadPublic: 0x169,
  TPM2_StartAuthSession: 0x176,
  TPM2_GetCapability: 0x17a,
  TPM2_PCR_Read: 0x17e,
} as const;
export type CommandName = keyof typeof codes;

/** Commands whose answers begin with the handle of the object that they have made. */
const makers: ReadonlySet<CommandName> = new Set(['TPM2_CreatePrimary', 'TPM2_StartAuthSession']);

/** Handles that every TPM has (part 2, 7.4). */
export const handles = {
  owner: 0x4000_0001,
  none: 0x4000_0007,
  password: 0x4000_0009,
  endorsement: 0x4000_000b,
} as const;

export interface TpmCommand {
  readonly name: CommandName;
  readonly handles?: readonly number[];
  /** Sessions that authorize the handles, in order: the empty password, or a policy session, which ends with the command. */
  readonly sessions?: readonly number[];
  readonly parameters?: readonly Buffer[];
}

export interface TpmAnswer {
  /** Handle of the object that was made. */
  readonly handle: number | undefined;
  readonly parameters: Buffer;
}

const tags = { plain: 0x8001, sessions: 0x8002 } as const;

/** Writes a command as the TPM reads it. */
export function encodeCommand({ name, handles: on = [], sessions = [], parameters = [] }: TpmCommand): Buffer {
  const area = sessions.map((session) => Buffer.concat([numbers([session, 4]), sized(), numbers([0, 1]), sized()]));
  const areaSize = area.reduce((sum, { length }) => sum + length, 0);
  const body = Buffer.concat([
    ...on.map((handle) => numbers([handle, 4])),
    ...(area.length === 0 ? [] : [numbers([areaSize, 4]), ...area]),
    ...parameters,
  ]);
  const tag = area.length === 0 ? tags.plain : tags.sessions;
  return Buffer.concat([numbers([tag, 2], [10 + body.length, 4], [codes[name], 4]), body]);
}

/**
 * Reads the answer to a command: its response code, and the answer where that is 0.
 * @throws AppError `agent_error` when it is none
 */
export function decodeAnswer(name: CommandName, bytes: Buffer): { readonly code: number; readonly answer: TpmAnswer } {
  const source = readAnswer(`the answer to ${name}`, bytes);
  const tag = source.u16();
  const length = source.u32();
  if (length !== bytes.length) {
    throw new AppError('agent_error', `the answer to ${name} has ${bytes.length} bytes and says ${length}`);
  }
  const code = source.u32();
  if (code !== 0) return { code, answer: { handle: undefined, parameters: Buffer.alloc(0) } };
  const handle = makers.has(name) ? source.u32() : undefined;
  // behind the parameters are the sessions' answers, which for passwords and policies are empty
  const parameters = tag === tags.sessions ? source.take(source.u32()) : source.rest();
  return { code, answer: { handle, parameters } };
}
