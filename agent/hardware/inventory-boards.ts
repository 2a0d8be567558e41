import { memLayout } from 'systeminformation/lib/memory.js';
import { baseboard, chassis } from 'systeminformation/lib/system.js';
import type { Run } from '#shared/process/run.ts';
import type { MemoryModule } from '#shared/wire/inventory.ts';

export interface BoardInfo {
  readonly manufacturer: string | null;
  readonly model: string | null;
  readonly version: string | null;
  readonly serial_number: string | null;
}

/** What the firmware reports of the machine's parts (SMBIOS), by `systeminformation` and `dmidecode`. */
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
    const { slot = bank, ecc = null } = (more.length === places.length && more[index]) || {};
    return {
      slot: known(slot),
      size_mb: Math.round(size / 1024 ** 2),
      type: known(type),
      form_factor: known(formFactor),
      speed_mts: clockSpeed || null,
      ecc,
      manufacturer: known(manufacturer),
      part_number: known(partNum),
      serial_number: known(serialNum),
    };
  });
  return {
    board: {
      manufacturer: known(board.manufacturer),
      model: known(board.model),
      version: known(board.version),
      serial_number: known(board.serial),
    },
    chassis: {
      manufacturer: known(box.manufacturer),
      type: known(box.type),
      version: known(box.version),
      serial_number: known(box.serial),
      asset_tag: known(box.assetTag),
    },
    slots: isKnown ? places.length : null,
    modules: isKnown ? modules.filter(({ size_mb: size }) => size > 0) : null,
  };
}

interface Place {
  /** As it is written beside it. */
  readonly slot: string;
  /** Whether there are more bits than the data's. */
  readonly ecc: boolean | null;
}

/** What `systeminformation` 5.33 leaves out, or has wrong (no module has ECC there); in its order. */
async function readPlaces(run: Run): Promise<readonly Place[]> {
  const { stdout } = await run('dmidecode', ['-t', '17']).catch(() => ({ stdout: '' }));
  const blocks = stdout.split(/^Memory Device$/m).slice(1);
  return blocks.map((block) => {
    const field = (name: string): string => new RegExp(`^\\s*${name}: (.*)$`, 'm').exec(block)?.[1] ?? '';
    const [total, data] = [Number.parseInt(field('Total Width'), 10), Number.parseInt(field('Data Width'), 10)];
    return { slot: field('Locator'), ecc: total > 0 && data > 0 ? total > data : null };
  });
}

/** Firmware says in many ways that it was not filled in. */
function known(text: string | null | undefined): string | null {
  const trimmed = text?.trim() ?? '';
  return /^(|-|0+|none|n\/a|not (specified|available|provided)|unknown|undefined|no dimm|to be filled.*|default string)$/i.test(
    trimmed,
  )
    ? null
    : trimmed;
}
