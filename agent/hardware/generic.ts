import { type HardwareManager, hardwareSupport } from '#agent/hardware/hardware-manager.ts';
import { eraseDevicesMetadata } from '#agent/steps/deploy-erase-devices-metadata.ts';
import { writeImageStep } from '#agent/steps/deploy-write-image.ts';

/** What works on any machine that Linux runs on. */
export const genericHardwareManager: HardwareManager = {
  className: 'GenericHardwareManager',
  name: 'generic_hardware_manager',
  version: '1.0',
  evaluateSupport: () => Promise.resolve(hardwareSupport.generic),
  steps: {
    deploy: [
      { step: eraseDevicesMetadata, priority: 0 },
      { step: writeImageStep, priority: 0 },
    ],
    clean: [{ step: eraseDevicesMetadata, priority: 99 }],
    service: [{ step: writeImageStep, priority: 0 }],
  },
};
