import { useEffect, useRef, useState } from "react";
import { readAll } from "@/api/readAll";
import { useTokens } from "@/api/networks";
import { Button } from "@/ui/Button";
import { Actions, Dialog } from "@/ui/Dialog";
import { Problem } from "@/ui/PageState";
import { saveFile } from "@/ui/saveFile";
import { announce } from "@/ui/toast";
import { paymentCsv } from "./paymentCsv";
import type { PaymentFilters } from "./paymentFilters";
import { fetchPayments } from "./usePayments";

const MOST = 100_000;

interface ExportDialogProps {
  filters: PaymentFilters;
  onClose: () => void;
}

const nameOf = ({ role, network, from, to }: PaymentFilters): string =>
  ["payments", role, network.replace("stellar:", ""), from, to].filter(Boolean).join("-") + ".csv";

/** Reads every payment of the filters and saves them as a CSV file. */
export function ExportDialog({ filters, onClose }: ExportDialogProps) {
  const tokens = useTokens();
  const [count, setCount] = useState<number | null>(null);
  const [problem, setProblem] = useState<unknown>(null);
  const control = useRef<AbortController | null>(null);
  useEffect(() => () => control.current?.abort(), []);

  const start = async () => {
    const own = new AbortController();
    control.current = own;
    setProblem(null);
    setCount(0);
    try {
      const { items, isComplete } = await readAll(fetchPayments(filters), {
        signal: own.signal,
        onProgress: setCount,
        most: MOST,
      });
      saveFile(nameOf(filters), "text/csv;charset=utf-8", paymentCsv(items, tokens));
      announce(
        isComplete
          ? `Saved ${items.length} payments.`
          : `Saved the newest ${items.length} payments. Choose a shorter time for the rest.`,
        "good",
      );
      onClose();
    } catch (error) {
      if (!own.signal.aborted) setProblem(error);
    } finally {
      if (!own.signal.aborted) setCount(null);
    }
  };

  return (
    <Dialog title="Export as CSV" onClose={onClose}>
      <p>
        The file has every payment that the filters leave, not only the rows that are shown. Amounts are exact:{" "}
        <code>amount</code> in tokens and <code>baseUnits</code> as whole numbers.
      </p>
      {count !== null && (
        <p className="numbers" role="status">
          {count === 0 ? "Reading…" : `Read ${count} payments…`}
        </p>
      )}
      {problem !== null && <Problem error={problem} isSmall />}
      <Actions>
        <Button onClick={onClose}>Cancel</Button>
        <Button kind="primary" isPending={count !== null} onClick={() => void start()}>
          Save the file
        </Button>
      </Actions>
    </Dialog>
  );
}
