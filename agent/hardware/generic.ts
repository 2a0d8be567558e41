import { type HardwareManager, hardwareSupport } from '#agent/hardware/hardware-manager.ts';
import { steps } from '#agent/steps/index.ts';

/** Hardware manager of what works on any machine that Linux runs on. */
export const genericHardwareManager: HardwareManager = {
  className: 'GenericHardwareManager',
  name: 'generic_hardware_manager',
  version: '1.0',
  evaluateSupport: () => Promise.resolve(hardwareSupport.generic),
  steps,
};
