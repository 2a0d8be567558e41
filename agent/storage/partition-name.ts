/** The device of a disk's partition: `/dev/vda1`, `/dev/nvme0n1p1`, `/dev/md0p1`. */
export function partitionName(disk: string, number: number): string {
  return /\d$/.test(disk) ? `${disk}p${number}` : `${disk}${number}`;
}
