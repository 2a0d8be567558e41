import type { AgentStep } from '#agent/hardware/hardware-manager.ts';
import { eraseDevicesMetadata } from '#agent/steps/deploy-erase-devices-metadata.ts';
import { writeImageStep } from '#agent/steps/deploy-write-image.ts';

/** Every in-band step, one file each; a test compares the table with the folder. */
export const steps: readonly AgentStep[] = [eraseDevicesMetadata, writeImageStep];
