import type { JsonObject } from '#conductor/model/json-object.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Values of `BATON_ATTESTATION` and of a node's `driver_info.attestation`. */
export const attestationModes = ['off', 'record', 'require'] as const;
export type AttestationMode = (typeof attestationModes)[number];

/**
 * Reads a node's own setting. Pure.
 * @returns `undefined`: it has none, and the conductor's counts
 * @throws AppError `invalid_argument` for another value
 */
export function readAttestationMode(driverInfo: JsonObject): AttestationMode | undefined {
  const own = driverInfo['attestation'];
  if (own === undefined || own === null) return undefined;
  const mode = attestationModes.find((each) => each === own);
  if (mode !== undefined) return mode;
  throw new AppError('invalid_argument', `driver_info.attestation: it must be one of ${attestationModes.join(', ')}`);
}

/**
 * Reads what is asked of this node's TPM: its own setting, or the conductor's. Pure.
 * @throws AppError `invalid_argument` for a value that is none: nothing is given away by a misspelled word
 */
export function attestationOf(
  config: { readonly attestation: AttestationMode },
  node: { readonly driverInfo: JsonObject },
): AttestationMode {
  return readAttestationMode(node.driverInfo) ?? config.attestation;
}
