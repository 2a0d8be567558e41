import type { AgentStep } from '#agent/hardware/hardware-manager.ts';
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

/** THE table of in-band steps, one file each: what the generic hardware manager offers. */
export const steps: readonly AgentStep[] = [
  applyBiosConfiguration,
  factoryResetBios,
  burninCpu,
  burninDisk,
  burninGpu,
  burninMemory,
  burninNetwork,
  cleanUefiNvram,
  eraseDevices,
  eraseDevicesExpress,
  eraseDevicesMetadata,
  erasePstoreStep,
  injectFilesStep,
  runPluginTaskStep,
  writeImageStep,
  applyRaidConfiguration,
  createRaidConfiguration,
  deleteRaidConfiguration,
];
