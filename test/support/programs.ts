import { join } from 'node:path';

const conductor = join(import.meta.dirname, '../../conductor');

/**
 * Programs that users start, as they start them: bundles, which are made again by themselves when a source has changed.
 */
export const conductorProgram = join(conductor, 'start/conductor');
/** A conductor that dies at a checkpoint: for `node`. */
export const crashingConductor = join(import.meta.dirname, 'crashing-conductor.ts');
export const batonProgram = join(conductor, 'cli/baton');
