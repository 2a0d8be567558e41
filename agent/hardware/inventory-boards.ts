import { memLayout } from 'systeminformation/lib/memory.js';
import { baseboard, chassis } from 'systeminformation/lib/system.js';
import { filledIn, realSerial } from '#shared/machine-identity.ts';
import type { Run } from '#shared/process/run.ts';
import type { MemoryModule } from '#shared/wire/inventory.ts';

export interface BoardInfo {
  readonly manufacturer: string | null;
  readonly model: string | null;
  readonly version: string | null;
  readonly serial_number: string | null;
}

/** Parts of the machine as the firmware reports them (SMBIOS), by `systeminformation` and `dmidecode`. */
export interface Boards {
  readonly board: BoardInfo;
  readonly chassis: Omit<BoardInfo, 'model'> & { readonly type: string | null; readonly asset_tag: string | null };
  /** Places for memory, and what is in them; `null` where the firmware says nothing. */
  readonly slots: number | null;
  readonly modules: readonly MemoryModule[] | null;
}

export async function readBoards(run: Run): Promise<Boards> {
  const [board, box, places, more] = await Promise.all([baseboard(), chassis(), memLayout(), readPlaces(run)]);
  // without SMBIOS it makes up one module of all that Linux has
  const isKnown = places.some(({ type }) => type !== '');
  const modules = places.map((place, index): MemoryModule => {
    const { size, type, formFactor, clockSpeed, manufacturer, partNum, serialNum, bank } = place;
    const { slot = bank, ecc = null, isSizeUnknown = false } = (more.length === places.length && more[index]) || {};
    return {
      slot: filledIn(slot),
      size_mb: isSizeUnknown ? null : Math.round(size / 1024 ** 2),
      type: filledIn(type),
      form_factor: filledIn(formFactor),
      speed_mts: clockSpeed || null,
      ecc,
      manufacturer: filledIn(manufacturer),
      part_number: filledIn(partNum),
      serial_number: realSerial(serialNum),
    };
  });
  return {
    board: {
      manufacturer: filledIn(board.manufacturer),
      model: filledIn(board.model),
      version: filledIn(board.version),
      serial_number: realSerial(board.serial),
    },
    chassis: {
      manufacturer: filledIn(box.manufacturer),
      type: filledIn(box.type),
      version: filledIn(box.version),
      serial_number: realSerial(box.serial),
      asset_tag: realSerial(box.assetTag),
    },
    slots: isKnown ? places.length : null,
    modules: isKnown ? modules.filter(({ size_mb: size }) => size !== 0) : null,
  };
}

interface Place {
  /** Slot as it is written beside it. */
  readonly slot: string;
  /** Whether there are more bits than the data's. */
  readonly ecc: boolean | null;
  /** It shows such a module as none. */
  readonly isSizeUnknown: boolean;
}

/** Reads what `systeminformation` 5.33 leaves out, or has wrong (no module has ECC there); in its order. */
async function readPlaces(run: Run): Promise<readonly Place[]> {
  const { stdout } = await run('dmidecode', ['-t', '17']).catch(() => ({ stdout: '' }));
  const blocks = stdout.split(/^Memory Device$/m).slice(1);
  return blocks.map((block) => {
    const field = (name: string): string => new RegExp(`^\\s*${name}: (.*)$`, 'm').exec(block)?.[1] ?? '';
    const [total, data] = [Number.parseInt(field('Total Width'), 10), Number.parseInt(field('Data Width'), 10)];
    const isSizeUnknown = field('Size').trim() === 'Unknown';
    return { isSizeUnknown, slot: field('Locator'), ecc: total > 0 && data > 0 ? total > data : null };
  });
}
