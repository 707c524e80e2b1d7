from wattlaw.program import main

main()
