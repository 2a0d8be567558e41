import { type Answer, errorAnswer } from '#test/simulators/redfish/answers.ts';
import type { Quirks } from '#test/simulators/redfish/faults.ts';
import {
  type SimulatedBoot,
  type SimulatedBootDevice,
  simulatedBootDevices,
} from '#test/simulators/redfish/machine.ts';
import { bootTargets } from '#test/simulators/redfish/resources.ts';

const writable = ['BootSourceOverrideEnabled', 'BootSourceOverrideTarget', 'BootSourceOverrideMode'];

/**
 * Computes what a PATCH body means for the boot override, or the error to answer. Values are checked as DMTF lists
 * them.
 */
export function patchedBoot(body: unknown, current: SimulatedBoot, quirks: Quirks): SimulatedBoot | Answer {
  const parts = isRecord(body) ? body : {};
  const unknown = Object.keys(parts).find((key) => key !== 'Boot');
  const boot = parts['Boot'];
  if (unknown !== undefined || !isRecord(boot)) return notWritable(unknown ?? 'Boot');
  const readOnly = Object.keys(boot).find((key) => !writable.includes(key));
  if (readOnly !== undefined) return notWritable(readOnly);
  const mode = boot['BootSourceOverrideMode'];
  if (mode !== undefined && quirks.rejectBootMode) return notWritable('BootSourceOverrideMode');
  if (mode !== undefined && mode !== 'UEFI' && mode !== 'Legacy') return notInList('BootSourceOverrideMode', mode);
  const enabled = boot['BootSourceOverrideEnabled'];
  if (enabled !== undefined && !quirks.overrideEnabled.some((each) => each === enabled)) {
    return notInList('BootSourceOverrideEnabled', enabled);
  }
  const target = boot['BootSourceOverrideTarget'];
  const offered = target === undefined || quirks.bootTargets.some((each) => each === target);
  const device = target === undefined ? current.device : bootedFrom(target, quirks);
  if (!offered) return notInList('BootSourceOverrideTarget', target);
  if (device === undefined) return notInList('BootSourceOverrideTarget', target);
  return {
    device: enabled === 'Disabled' ? 'none' : device,
    once:
      quirks.bootHolds === 'as asked'
        ? enabled === undefined
          ? current.once
          : enabled === 'Once'
        : quirks.bootHolds === 'Once',
    mode: mode === undefined ? (quirks.forgetsBootMode ? 'bios' : current.mode) : mode === 'UEFI' ? 'uefi' : 'bios',
  };
}

function bootedFrom(target: unknown, quirks: Quirks): SimulatedBootDevice | undefined {
  const byUsb = quirks.bootTargets.includes('UsbCd');
  if (byUsb && (target === 'UsbCd' || target === 'Cd')) return target === quirks.cdTarget ? 'cdrom' : 'none';
  return simulatedBootDevices.find((each) => bootTargets[each] === target);
}

function notWritable(property: string): Answer {
  return errorAnswer(400, 'PropertyNotWritable', {
    text: `The property ${property} is a read only property and cannot be assigned a value.`,
  });
}

function notInList(property: string, value: unknown): Answer {
  return errorAnswer(400, 'PropertyValueNotInList', {
    text: `The value ${JSON.stringify(value)} for the property ${property} is not in the list of acceptable values.`,
  });
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
