import { type HardwareManager, hardwareSupport } from '#agent/hardware/hardware-manager.ts';
import { applyBiosConfiguration } from '#agent/steps/bios-apply-configuration.ts';
import { factoryResetBios } from '#agent/steps/bios-factory-reset.ts';
import { burninCpu } from '#agent/steps/deploy-burnin-cpu.ts';
import { burninDisk } from '#agent/steps/deploy-burnin-disk.ts';
import { burninGpu } from '#agent/steps/deploy-burnin-gpu.ts';
import { burninMemory } from '#agent/steps/deploy-burnin-memory.ts';
import { burninNetwork } from '#agent/steps/deploy-burnin-network.ts';
import { cleanUefiNvram } from '#agent/steps/deploy-clean-uefi-nvram.ts';
import { eraseDevices } from '#agent/steps/deploy-erase-devices.ts';
import { eraseDevicesExpress } from '#agent/steps/deploy-erase-devices-express.ts';
import { eraseDevicesMetadata } from '#agent/steps/deploy-erase-devices-metadata.ts';
import { erasePstoreStep } from '#agent/steps/deploy-erase-pstore.ts';
import { injectFilesStep } from '#agent/steps/deploy-inject-files.ts';
import { runPluginTaskStep } from '#agent/steps/deploy-run-plugin-task.ts';
import { writeImageStep } from '#agent/steps/deploy-write-image.ts';
import { applyRaidConfiguration } from '#agent/steps/raid-apply-configuration.ts';
import { createRaidConfiguration } from '#agent/steps/raid-create-configuration.ts';
import { deleteRaidConfiguration } from '#agent/steps/raid-delete-configuration.ts';

/** What leaves a machine's data as it is. */
const burnIn = [burninCpu, burninGpu, burninMemory, burninNetwork].map((step) => ({ step, priority: 0 }));

/** What works on any machine that Linux runs on. */
export const genericHardwareManager: HardwareManager = {
  className: 'GenericHardwareManager',
  name: 'generic_hardware_manager',
  version: '1.0',
  evaluateSupport: () => Promise.resolve(hardwareSupport.generic),
  steps: {
    deploy: [
      { step: eraseDevicesMetadata, priority: 0 },
      { step: cleanUefiNvram, priority: 0 },
      { step: writeImageStep, priority: 0 },
      { step: injectFilesStep, priority: 0 },
      { step: runPluginTaskStep, priority: 0 },
      { step: applyRaidConfiguration, priority: 0 },
      { step: applyBiosConfiguration, priority: 0 },
      { step: factoryResetBios, priority: 0 },
    ],
    clean: [
      { step: eraseDevicesMetadata, priority: 99 },
      { step: eraseDevices, priority: 10 },
      { step: eraseDevicesExpress, priority: 0 },
      { step: erasePstoreStep, priority: 0 },
      ...burnIn,
      { step: burninDisk, priority: 0 },
      { step: cleanUefiNvram, priority: 0 },
      { step: createRaidConfiguration, priority: 0 },
      { step: deleteRaidConfiguration, priority: 0 },
      { step: applyBiosConfiguration, priority: 0 },
      { step: factoryResetBios, priority: 0 },
    ],
    service: [
      ...burnIn,
      { step: writeImageStep, priority: 0 },
      { step: injectFilesStep, priority: 0 },
      { step: applyRaidConfiguration, priority: 0 },
      { step: createRaidConfiguration, priority: 0 },
      { step: deleteRaidConfiguration, priority: 0 },
      { step: applyBiosConfiguration, priority: 0 },
      { step: factoryResetBios, priority: 0 },
    ],
  },
};
