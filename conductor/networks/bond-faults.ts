import { AppError } from '#shared/errors/app-error.ts';

/** Makes the error that every driver gives for bonds that it leaves alone. */

export function notBatons(portId: string, bond: string): AppError {
  return new AppError(
    'switch_error',
    `port ${portId} is in bond ${bond}, which is not Baton's: take it out, or name the bond in bonds of the networks file, or its number in bond_numbers`,
  );
}

export function holdsOthers(bond: string, others: readonly string[]): AppError {
  return new AppError(
    'switch_error',
    `${bond} has ${others.join(', ')}, which Baton did not put there: remove it, or change bond_numbers in the networks file`,
  );
}
