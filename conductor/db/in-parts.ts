/** PostgreSQL takes 65,535 parameters in one statement. */
const most = 5000;

/** Reads for many values by several statements, one after another. */
export async function inParts<Row>(
  values: readonly string[],
  read: (part: string[]) => Promise<readonly Row[]>,
  size: number = most,
): Promise<Row[]> {
  const rows: Row[] = [];
  // not spread into `push`: that many arguments exhaust the stack
  for (let from = 0; from < values.length; from += size) {
    for (const row of await read(values.slice(from, from + size))) rows.push(row);
  }
  return rows;
}
