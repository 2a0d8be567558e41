/** Keeps the latest log lines in memory, for `log.collect_system_logs`. */
export interface RecentLog {
  write(line: string): void;
  text(): string;
}

export function createRecentLog(maxLines = 5000): RecentLog {
  const lines: string[] = [];
  return {
    write: (line) => {
      lines.push(line);
      if (lines.length > maxLines * 2) lines.splice(0, lines.length - maxLines);
    },
    text: () => lines.slice(-maxLines).join(''),
  };
}
